/* SPDX-License-Identifier: MIT */
/*
 * database.h - SQLite with errors that are remembered: after a failure all calls do
 * nothing, so that callers check once at the end.
 */
#ifndef STORE_DATABASE_H
#define STORE_DATABASE_H

#include "store/store.h"

#include <sqlite3.h>

struct store {
    sqlite3 *db;
    char *path;
    struct pprof_error *error; /* of the call that is being made */
    bool failed;               /* that call has set its error */
};

/* store_fail - set the error "PATH: WHY", unless it is set. Returns false. */
bool store_fail(struct store *store, const char *why);

/* store_fail_sqlite - do the same with SQLite's own reason. */
bool store_fail_sqlite(struct store *store);

/* store_start - forget the last call's failure. */
void store_start(struct store *store, struct pprof_error *error);

/* store_run - run statements without parameters and results. */
bool store_run(struct store *store, const char *sql);

/* store_prepare - return a statement, or NULL after a failure. */
sqlite3_stmt *store_prepare(struct store *store, const char *sql);

/* store_bind_text, store_bind - bind a parameter, counted from 1. Numbers of 64 bits
 * are stored in two's complement. A NULL text is bound as NULL. */
void store_bind_text(struct store *store, sqlite3_stmt *statement, int index,
                     const char *text);
void store_bind(struct store *store, sqlite3_stmt *statement, int index,
                uint64_t number);

/* store_step - return whether there is a row. If there is none, or after a failure, the
 * statement is reset. */
bool store_step(struct store *store, sqlite3_stmt *statement);

/* store_column_text - return a text of the row, "" for NULL. Valid until the next
 * step. */
const char *store_column_text(sqlite3_stmt *statement, int column);

/* store_number - return the only number that a statement without parameters yields; 0
 * after a failure. */
uint64_t store_number(struct store *store, const char *sql);

#endif
