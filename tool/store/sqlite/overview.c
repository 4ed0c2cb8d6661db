/* SPDX-License-Identifier: MIT */
/* overview.c - what there is to select, and hits over time (store/overview.h). */
#include "store/sqlite/windows.h"

/* Add the first column of a query's rows to a set. Queries yield OVERVIEW_NAMES_MAX
 * rows at most, 2000. */
static void
read_names(struct database *store, const char *sql, struct string_set *set)
{
    sqlite3_stmt *const statement = database_prepare(store, sql);

    while (database_step(store, statement)) {
        if (!overview_add(set, database_column_text(statement, 0))) {
            database_fail(store, "out of memory for its names");
        }
    }
    sqlite3_finalize(statement);
}

static void
read_labels(struct database *store, struct store_overview *overview)
{
    sqlite3_stmt *const statement = database_prepare(
        store, "SELECT DISTINCT labels FROM origin ORDER BY labels LIMIT 10000");

    while (database_step(store, statement)) {
        if (!overview_add_labels(overview, database_column_text(statement, 0))) {
            database_fail(store, "out of memory for its labels");
        }
    }
    sqlite3_finalize(statement);
}

bool
sqlite_get_extent(struct store *store, int64_t *first_ns, int64_t *last_ns,
                  struct pprof_error *error)
{
    struct database *const database = (struct database *)store;

    database_start(database, error);
    /* Ordered by the end, as there is an index of ends and none of starts; the window
     * that ended first is the one that started first, or nearly so. */
    *first_ns = (int64_t)database_number(
        database, "SELECT start_ns FROM window ORDER BY end_ns LIMIT 1");
    *last_ns = (int64_t)database_number(database, "SELECT max(end_ns) FROM window");
    return !database->failed;
}

bool
sqlite_get_names(struct store *store, const struct store_selection *selection,
                 struct store_overview *overview, struct pprof_error *error)
{
    struct database *const database = (struct database *)store;

    (void)selection;
    database_start(database, error);
    read_names(database, "SELECT name FROM host ORDER BY name LIMIT 2000",
               &overview->hosts);
    read_names(database, "SELECT name FROM unit ORDER BY name LIMIT 2000",
               &overview->units);
    read_names(database,
               "SELECT build_id || ' ' || path FROM image WHERE build_id <> '' ORDER "
               "BY path, build_id LIMIT 2000",
               &overview->builds);
    read_names(database, "SELECT DISTINCT name FROM source ORDER BY name LIMIT 2000",
               &overview->sources);
    read_names(database, "SELECT DISTINCT path FROM image ORDER BY path LIMIT 2000",
               &overview->images);
    read_names(database,
               "SELECT DISTINCT interval || ' ' || unit || ' ' || name FROM source "
               "WHERE interval > 0 ORDER BY name, interval LIMIT 2000",
               &overview->intervals);
    read_labels(database, overview);
    return !database->failed;
}

/* Add the hits of a slot of the timeline. A store may be forged, so its numbers are
 * checked. */
static void
read_slot(struct store_overview *overview, sqlite3_stmt *row)
{
    const int64_t slot = sqlite3_column_int64(row, 0);
    const int64_t hits = sqlite3_column_int64(row, 2);

    if (slot >= 0 && hits > 0) {
        overview_add_hits(overview, (uint64_t)slot,
                          (uint64_t)sqlite3_column_int64(row, 1), (uint64_t)hits);
    }
}

bool
sqlite_get_timeline(struct store *store, const struct store_selection *selection,
                    struct store_overview *overview, struct pprof_error *error)
{
    struct database *const database = (struct database *)store;
    const int next = WINDOWS_PARAMETERS(selection);
    struct buffer sql = {0};
    sqlite3_stmt *statement;

    database_start(database, error);
    buffer_print(
        &sql,
        "SELECT (max(start_ns, ?%d) - ?%d) / ?%d AS slot, interval, "
        "total(counted) FROM (SELECT window.id AS id, start_ns FROM " WINDOWS_TABLES
        " WHERE ",
        next, next, next + 1);
    windows_put_condition(&sql, selection);
    buffer_print(&sql,
                 ") AS w CROSS JOIN accounting ON accounting.window = w.id JOIN source "
                 "ON source.id = accounting.source WHERE name = ?%d GROUP BY slot, "
                 "interval ORDER BY interval",
                 next + 2);
    statement = database_prepare(database, buffer_text(&sql));
    windows_bind(database, statement, selection);
    database_bind(database, statement, next, (uint64_t)overview->start_ns);
    database_bind(database, statement, next + 1, (uint64_t)overview->slot_ns);
    database_bind_text(database, statement, next + 2, overview->source);
    while (database_step(database, statement)) {
        read_slot(overview, statement);
    }
    sqlite3_finalize(statement);
    buffer_finish(&sql);
    return !database->failed;
}
