/* SPDX-License-Identifier: MIT */
/*
 * database.h - SQLite with errors that are remembered: after a failure all calls do
 * nothing, so that callers check once at the end.
 */
#ifndef STORE_SQLITE_DATABASE_H
#define STORE_SQLITE_DATABASE_H

#include "store/engine.h"
#include "store/sqlite/files.h"

#include <sqlite3.h>

struct database {
    struct store store;
    sqlite3 *db;
    char *path; /* as the user wrote it */
    struct store_files files;
    const struct store_stop *stop; /* ends waits and statements; NULL: never */
    uint64_t version;              /* of the tables */
    struct pprof_error *error;     /* of the call that is being made */
    bool failed;                   /* that call has set its error */
};

/* database_fail - set the error "PATH: WHY", unless it is set. Returns false. */
bool database_fail(struct database *store, const char *why);

/* database_fail_for_good - set the error as database_fail does; it is lasting: the
 * store will never take this profile. */
bool database_fail_for_good(struct database *store, const char *why);

/* database_fail_sqlite - set the error to the reason of SQLite's last failure. Returns
 * false. */
bool database_fail_sqlite(struct database *store);

/* database_start - begin a call of store.h: forget the failure of the last one. error:
 * where this call's failure goes. */
void database_start(struct database *store, struct pprof_error *error);

/* database_run - run statements without parameters and results. Returns false after a
 * failure. */
bool database_run(struct database *store, const char *sql);

/* database_prepare - return a statement, for sqlite3_finalize; NULL after a failure.
 * sql: NULL: memory ran out for it, which is a failure. */
sqlite3_stmt *database_prepare(struct database *store, const char *sql);

/* database_bind_text, database_bind - bind a parameter, counted from 1. Numbers of 64
 * bits are stored in two's complement. A NULL text is bound as NULL. */
void database_bind_text(struct database *store, sqlite3_stmt *statement, int index,
                        const char *text);
void database_bind(struct database *store, sqlite3_stmt *statement, int index,
                   uint64_t number);

/* database_step - run a statement up to its next row. Returns false if there is none or
 * after a failure; the statement is reset then. */
bool database_step(struct database *store, sqlite3_stmt *statement);

/* database_execute - run a statement to its end, without reading rows, and reset it. */
void database_execute(struct database *store, sqlite3_stmt *statement);

/* database_column_text - return a text of the row, "" for NULL. Valid until the next
 * step. */
const char *database_column_text(sqlite3_stmt *statement, int column);

/* database_number - return the only number that a statement without parameters yields;
 * 0 after a failure. */
uint64_t database_number(struct database *store, const char *sql);

/* The operations of engine.h. */
bool sqlite_create(const struct store_url *url, const char *cluster,
                   struct pprof_error *error);
struct store *sqlite_open(const struct store_url *url, bool write,
                          struct pprof_error *error);
void sqlite_close(struct store *store);
bool sqlite_add(struct store *store, const struct profile *profile,
                const struct store_window *window, struct pprof_error *error);
struct profile *sqlite_read(struct store *store,
                            const struct store_selection *selection,
                            struct pprof_error *error);
bool sqlite_get_extent(struct store *store, int64_t *first_ns, int64_t *last_ns,
                       struct pprof_error *error);
bool sqlite_get_names(struct store *store, const struct store_selection *selection,
                      struct store_overview *overview, struct pprof_error *error);
bool sqlite_get_timeline(struct store *store, const struct store_selection *selection,
                         struct store_overview *overview, struct pprof_error *error);
bool sqlite_get_statistics(struct store *store, struct store_statistics *statistics,
                           struct pprof_error *error);
bool sqlite_check(struct store *store, struct pprof_error *error);
bool sqlite_prune(struct store *store, const struct store_limits *limits,
                  uint64_t *windows, struct pprof_error *error);
bool sqlite_fold(struct store *store, uint64_t *days, struct pprof_error *error);
struct profile *sqlite_places(struct store *store, struct pprof_error *error);
bool sqlite_rename(struct store *store, const struct profile *places,
                   struct pprof_error *error);
bool sqlite_upgrade(const struct store_url *url, struct pprof_error *error);

#endif
