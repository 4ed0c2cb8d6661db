/* SPDX-License-Identifier: MIT */
/*
 * record_rows.h - options of the commands that record, in groups: each command puts
 * those that it has into its table. All of them write to struct record_options.
 */
#ifndef RECORD_RECORD_ROWS_H
#define RECORD_RECORD_ROWS_H

#include "base/options.h"

extern const struct options_row record_duration_rows[]; /* of attach and system */
extern const struct options_row record_region_rows[];
extern const struct options_row record_pid_rows[];
extern const struct options_row record_machine_rows[]; /* which part of the machine */
extern const struct options_row record_hit_rows[];     /* what all recordings have */
extern const struct options_row record_file_rows[];
extern const struct options_row record_stack_rows[];
extern const struct options_row record_memory_rows[];
extern const struct options_row record_table_rows[];

/* Parse the time of --duration, or of -d: how often a screen is refreshed. */
options_take_one record_take_duration;
options_take_one record_take_refresh;

#endif
