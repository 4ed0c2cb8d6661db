/* SPDX-License-Identifier: MIT */
/*
 * fold.c - sums of past days.
 *
 * For each host the hits of a day's windows are added up, in a transaction of its own,
 * so that other writers wait for a moment only. A day in UTC is that of a window's
 * start. The table folded has the days and hosts whose sums are those of their windows:
 * sqlite_add removes the row of a window's day and host in its own transaction.
 */
#include "store/sqlite/database.h"
#include "store/sqlite/schema.h"

#include "base/clock.h"

/* Windows of a day that ended less than this ago may be followed by others. */
static const uint64_t late_ns = UINT64_C(3600) * CLOCK_SECOND_NS;

/* Make the temporary table due: days and hosts to fold. The day and the host's windows
 * in it ended at least an hour ago (late_ns), and table folded does not have them. */
static void
find_due(struct database *store)
{
    sqlite3_stmt *statement;

    database_run(store, "DROP TABLE IF EXISTS temp.due;"
                        "CREATE TEMP TABLE due(day INTEGER NOT NULL, host INTEGER NOT "
                        "NULL, PRIMARY KEY(day, host)) WITHOUT ROWID");
    statement = database_prepare(
        store, "INSERT INTO due SELECT " STORE_DAY " AS d, host FROM window GROUP BY "
               "d, host HAVING max(end_ns) <= ?1 AND (d + 1) * " STORE_DAY_NS
               " <= ?1 AND (d, host) NOT IN (SELECT day, host FROM folded)");
    database_bind(store, statement, 1, clock_ns(CLOCK_REALTIME) - late_ns);
    database_execute(store, statement);
    sqlite3_finalize(statement);
}

/* Get one entry of the table due. Returns false if there is none, or after a
 * failure. */
static bool
next_due(struct database *store, uint64_t *day, uint64_t *host)
{
    sqlite3_stmt *const statement =
        database_prepare(store, "SELECT day, host FROM due LIMIT 1");
    const bool found = database_step(store, statement);

    if (found) {
        *day = (uint64_t)sqlite3_column_int64(statement, 0);
        *host = (uint64_t)sqlite3_column_int64(statement, 1);
    }
    sqlite3_finalize(statement);
    return found;
}

/* Make the sums of a day of a host, and remove it from the table due. */
static void
fold_day(struct database *store, uint64_t day, uint64_t host)
{
    static const char *const steps[] = {
        "DELETE FROM sums WHERE day = ?1 AND host = ?2",
        "INSERT INTO sums SELECT ?1, ?2, source, process, unit, place, sum(count) FROM "
        "window CROSS JOIN hits ON hits.window = window.id WHERE host = ?2 "
        "AND " STORE_DAY " = ?1 GROUP BY source, process, unit, place",
        "INSERT OR REPLACE INTO folded SELECT ?1, ?2, count(*) FROM window WHERE host "
        "= ?2 AND " STORE_DAY " = ?1",
        "DELETE FROM due WHERE day = ?1 AND host = ?2",
    };

    database_run(store, "BEGIN IMMEDIATE");
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        sqlite3_stmt *const statement = database_prepare(store, steps[i]);

        database_bind(store, statement, 1, day);
        database_bind(store, statement, 2, host);
        database_execute(store, statement);
        sqlite3_finalize(statement);
    }
    database_run(store, "COMMIT");
    if (store->failed) {
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    }
}

bool
sqlite_fold(struct store *store, uint64_t *days, struct pprof_error *error)
{
    struct database *const database = (struct database *)store;
    uint64_t day;
    uint64_t host;

    database_start(database, error);
    find_due(database);
    *days = database_number(database, "SELECT count(DISTINCT day) FROM due");
    while (next_due(database, &day, &host)) {
        fold_day(database, day, host);
    }
    return !database->failed;
}
