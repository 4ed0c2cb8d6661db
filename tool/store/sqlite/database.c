/* SPDX-License-Identifier: MIT */
/* database.c - wraps statements, parameters and columns. */
#include "store/sqlite/database.h"

#include "base/command_log.h"
#include "base/text.h"

#include <stdio.h>

/* Set the error "PATH: WHY", unless the call has one already. Returns false. */
static bool
keep_first_error(struct database *store, const char *why, bool lasting)
{
    char shown[128];

    if (!store->failed) {
        store->failed = true;
        store->error->lasting = lasting;
        snprintf(store->error->text, sizeof(store->error->text), "%s: %.380s",
                 text_show(shown, sizeof(shown), store->path), why);
    }
    return false;
}

bool
database_fail(struct database *store, const char *why)
{
    return keep_first_error(store, why, false);
}

bool
database_fail_for_good(struct database *store, const char *why)
{
    return keep_first_error(store, why, true);
}

bool
database_fail_sqlite(struct database *store)
{
    char reason[256];
    char shown[256];

    if (!store->failed && store->db != NULL &&
        sqlite3_errcode(store->db) == SQLITE_BUSY) {
        store->error->busy = true;
        return database_fail(store,
                             "another program keeps it locked; end that program, or "
                             "try again later");
    }
    snprintf(reason, sizeof(reason), "%s",
             store->db != NULL ? sqlite3_errmsg(store->db) : "out of memory");
    text_show(shown, sizeof(shown), reason);
    /* SQLITE_TOOBIG is lasting: the same profile has a text that is too long the next
     * time, too. All other failures may pass. */
    return keep_first_error(
        store, shown, store->db != NULL && sqlite3_errcode(store->db) == SQLITE_TOOBIG);
}

void
database_start(struct database *store, struct pprof_error *error)
{
    store->error = error;
    store->failed = false;
}

/* Log a statement. Its values are not in the text, as they are bound later. */
static void
log_statement(const struct database *store, const char *sql)
{
    if (!store->failed) {
        COMMAND_LOG("store: %s", sql);
    }
}

bool
database_run(struct database *store, const char *sql)
{
    log_statement(store, sql);
    if (!store->failed && sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        database_fail_sqlite(store);
    }
    return !store->failed;
}

sqlite3_stmt *
database_prepare(struct database *store, const char *sql)
{
    sqlite3_stmt *statement = NULL;

    if (sql == NULL) {
        database_fail(store, "out of memory for a statement");
        return NULL;
    }
    log_statement(store, sql);
    if (!store->failed &&
        sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK) {
        database_fail_sqlite(store);
    }
    return statement;
}

void
database_bind_text(struct database *store, sqlite3_stmt *statement, int index,
                   const char *text)
{
    if (!store->failed &&
        sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT) != SQLITE_OK) {
        database_fail_sqlite(store);
    }
}

void
database_bind(struct database *store, sqlite3_stmt *statement, int index,
              uint64_t number)
{
    if (!store->failed &&
        sqlite3_bind_int64(statement, index, (sqlite3_int64)number) != SQLITE_OK) {
        database_fail_sqlite(store);
    }
}

bool
database_step(struct database *store, sqlite3_stmt *statement)
{
    int result;

    if (store->failed) {
        return false;
    }
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        return true;
    }
    if (result != SQLITE_DONE) {
        database_fail_sqlite(store);
    }
    sqlite3_reset(statement);
    return false;
}

void
database_execute(struct database *store, sqlite3_stmt *statement)
{
    while (database_step(store, statement)) {
    }
}

const char *
database_column_text(sqlite3_stmt *statement, int column)
{
    const unsigned char *const text = sqlite3_column_text(statement, column);

    return text != NULL ? (const char *)text : "";
}

uint64_t
database_number(struct database *store, const char *sql)
{
    sqlite3_stmt *const statement = database_prepare(store, sql);
    uint64_t number = 0;

    if (database_step(store, statement)) {
        number = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
    return number;
}
