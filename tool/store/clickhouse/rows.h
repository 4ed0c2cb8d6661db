/* SPDX-License-Identifier: MIT */
/*
 * rows.h - rows of a server's answer as rows of a profile. The bytes may be any.
 */
#ifndef STORE_CLICKHOUSE_ROWS_H
#define STORE_CLICKHOUSE_ROWS_H

#include "profile/profile.h"
#include "store/clickhouse/row_binary.h"

#include <stdbool.h>

/* The columns that rows_take reads, in this order, as they are called in queries. */
#define ROWS_COLUMNS                                                                   \
    "source, period, process, unit, path, build_id, low, high, bias, named, address, " \
    "function, system_name, file, definition, start_line, has_address, "               \
    "function_address, line, caller_functions, caller_system_names, "                  \
    "caller_files, caller_definitions, caller_start_lines, "                           \
    "caller_has_addresses, caller_addresses, caller_lines, hits"

/* rows_answer_max - return how many rows of an answer rows_take accepts: the answer has
 * one for each source of a row of the profile. */
uint64_t rows_answer_max(const struct profile *profile, size_t rows_max);

/* rows_take - add all rows of an answer to a profile that has its sources.
 *
 *   rows_max  in: more rows of the profile, or of the answer for each source, are a
 *             failure; 0: any number
 *
 * Returns NULL, or why that failed. */
const char *rows_take(struct profile *profile, size_t rows_max,
                      struct row_binary_reader *reader);

#endif
