/* SPDX-License-Identifier: MIT */
/*
 * sql.h - texts of others in SQL. A text goes in as hexadecimal digits, so that no byte
 * of it can have a meaning to any version of the server.
 */
#ifndef STORE_CLICKHOUSE_SQL_H
#define STORE_CLICKHOUSE_SQL_H

#include "base/buffer.h"

/* sql_put_text - append an expression whose value is the text. */
void sql_put_text(struct buffer *sql, const char *text);

/* sql_put_glob - append an expression that is true where a column matches a glob, with
 * '*', '?' and [..] as in SQLite. */
void sql_put_glob(struct buffer *sql, const char *column, const char *glob);

/* sql_make_pattern - append a regular expression of RE2 that matches what the glob
 * does. */
void sql_make_pattern(struct buffer *pattern, const char *glob);

/* sql_put_prefix - append an expression that is true where a column starts with the
 * prefix. */
void sql_put_prefix(struct buffer *sql, const char *column, const char *prefix);

#endif
