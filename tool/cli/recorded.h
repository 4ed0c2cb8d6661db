/* SPDX-License-Identifier: MIT */
/* recorded.h - prints what a recording found, for recording_deliver and
 * recording_conclude. */
#ifndef CLI_RECORDED_H
#define CLI_RECORDED_H

#include "record/recording.h"

/* The table, the JSON or the region that the options ask for. */
recording_print recorded_print;

/* Only the lines below the table. */
recording_print recorded_print_statistics;

#endif
