/* SPDX-License-Identifier: MIT */
/* record_pids.h - the processes of attach and top, by number or by name. */
#ifndef RECORD_RECORD_PIDS_H
#define RECORD_RECORD_PIDS_H

#include "record/record_options.h"

/* Add processes to options->pids: a list of numbers such as 12,34, or all processes of
 * a name or glob (process_is_called). Returns false after an error line. */
bool record_pids_parse(struct record_options *options, const char *text);

#endif
