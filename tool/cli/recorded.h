/* SPDX-License-Identifier: MIT */
/* recorded.h - prints what a recording found, for recording_deliver and
 * recording_conclude. */
#ifndef CLI_RECORDED_H
#define CLI_RECORDED_H

#include "record/recording.h"

/* recorded_print - print the table, the JSON or the region that the options ask for,
 * and the statistics. Returns false if that fails. */
recording_print recorded_print;

/* recorded_print_statistics - print only the lines below the table. */
recording_print recorded_print_statistics;

#endif
