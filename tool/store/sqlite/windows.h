/* SPDX-License-Identifier: MIT */
/* windows.h - the condition that the windows of a selection fulfil. */
#ifndef STORE_SQLITE_WINDOWS_H
#define STORE_SQLITE_WINDOWS_H

#include "store/sqlite/database.h"

#include "base/buffer.h"

/* The tables that the condition is about, for FROM. */
#define WINDOWS_TABLES                                                      \
    "window JOIN host ON host.id = window.host JOIN origin ON origin.id = " \
    "window.origin"

/* Number of the first parameter behind those of the condition. */
#define WINDOWS_PARAMETERS(selection) (4 + (int)(selection)->label_count)

/* windows_put_condition - append the condition, with parameters from 1 on. */
void windows_put_condition(struct buffer *sql, const struct store_selection *selection);

/* windows_bind - bind the condition's parameters. */
void windows_bind(struct database *store, sqlite3_stmt *statement,
                  const struct store_selection *selection);

#endif
