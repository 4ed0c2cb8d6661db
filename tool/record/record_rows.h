/* SPDX-License-Identifier: MIT */
/*
 * record_rows.h - options of the commands that record, in groups: each command puts
 * those that it has into its table. All of them write to struct record_options.
 */
#ifndef RECORD_RECORD_ROWS_H
#define RECORD_RECORD_ROWS_H

#include "base/options.h"

extern const struct options_row record_duration_rows[]; /* stops the command */
extern const struct options_row record_region_rows[];
extern const struct options_row record_pid_rows[];
extern const struct options_row record_machine_rows[]; /* which part of it */
extern const struct options_row record_hit_rows[];     /* what all of them have */
extern const struct options_row record_file_rows[];
extern const struct options_row record_stack_rows[];
extern const struct options_row record_memory_rows[];
extern const struct options_row record_table_rows[];

/* Take the times of --duration and of -d. */
options_take_one record_take_duration;
options_take_one record_take_refresh;

#endif
