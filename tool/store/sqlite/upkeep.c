/* SPDX-License-Identifier: MIT */
/* upkeep.c - statistics and checks of a store, and removing old windows. */
#include "store/sqlite/database.h"
#include "store/sqlite/schema.h"

#include <string.h>

bool
sqlite_get_statistics(struct store *store, struct store_statistics *statistics,
                      struct pprof_error *error)
{
    struct database *const database = (struct database *)store;

    database_start(database, error);
    database_run(database, "BEGIN");
    *statistics = (struct store_statistics){
        .bytes = database_number(database, "PRAGMA page_count") *
                 database_number(database, "PRAGMA page_size"),
        .hosts = database_number(database, "SELECT count(*) FROM host"),
        .windows = database_number(database, "SELECT count(*) FROM window"),
        .rows = database_number(database, "SELECT count(*) FROM hits"),
        .places = database_number(database, "SELECT count(*) FROM place"),
        .first_ns =
            (int64_t)database_number(database, "SELECT min(start_ns) FROM window"),
        .last_ns = (int64_t)database_number(database, "SELECT max(end_ns) FROM window"),
    };
    sqlite3_exec(database->db, "ROLLBACK", NULL, NULL, NULL);
    return !database->failed;
}

bool
sqlite_check(struct store *store, struct pprof_error *error)
{
    static const struct {
        const char *sql; /* number of faults */
        const char *what;
        uint64_t version; /* the first whose tables have the columns */
    } faults[] = {
        {"SELECT count(*) FROM hits WHERE window NOT IN (SELECT id FROM window) OR "
         "place NOT IN (SELECT id FROM place) OR process NOT IN (SELECT id FROM "
         "process) OR unit NOT IN (SELECT id FROM unit) OR source NOT IN (SELECT id "
         "FROM "
         "source)",
         "rows of hits lead nowhere", STORE_VERSION_READ},
        {"SELECT count(*) FROM place WHERE image NOT IN (SELECT id FROM image) OR "
         "function NOT IN (SELECT id FROM function) OR frame NOT IN (SELECT id FROM "
         "frame)",
         "places lead nowhere", STORE_VERSION_READ},
        {"SELECT count(*) FROM frame WHERE caller >= id OR function NOT IN (SELECT id "
         "FROM function)",
         "inlined calls lead nowhere", STORE_VERSION_READ},
        {"SELECT count(*) FROM hits WHERE count <= 0", "rows have no hits",
         STORE_VERSION_READ},
        /* Files of other tools have no statistics. */
        {"SELECT count(*) FROM (SELECT 1 FROM accounting JOIN hits USING(window, "
         "source) GROUP BY accounting.window, accounting.source HAVING counted > 0 "
         "AND sum(count) > counted)",
         "windows have more hits in their rows than were counted", STORE_VERSION_READ},
        {"SELECT count(*) FROM accounting WHERE NOT (outside BETWEEN 0 AND taken AND "
         "outside_kernel BETWEEN 0 AND outside)",
         STORE_CONTRADICTION, STORE_VERSION},
        {"SELECT count(*) FROM folded LEFT JOIN (SELECT day AS d, host AS h, "
         "sum(count) AS summed FROM sums GROUP BY d, h) ON d = day AND h = host LEFT "
         "JOIN (SELECT " STORE_DAY " AS e, host AS i, count(DISTINCT id) AS number, "
         "sum(count) AS counted FROM window LEFT JOIN hits ON hits.window = window.id "
         "GROUP BY e, i) ON e = day AND i = host WHERE windows IS NOT number OR summed "
         "IS NOT counted",
         "sums of days are not those of their windows", STORE_VERSION_READ},
    };
    struct database *const database = (struct database *)store;
    sqlite3_stmt *statement;

    database_start(database, error);
    statement = database_prepare(database, "PRAGMA integrity_check(1)");
    if (database_step(database, statement) &&
        strcmp(database_column_text(statement, 0), "ok") != 0) {
        database_fail(database, database_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (database->version >= faults[i].version &&
            database_number(database, faults[i].sql) != 0) {
            database_fail(database, faults[i].what);
        }
    }
    return !database->failed;
}

/* Return the bytes of the pages in use, without those that SQLite keeps for later. */
static uint64_t
used_bytes(struct database *store)
{
    return (database_number(store, "PRAGMA page_count") -
            database_number(store, "PRAGMA freelist_count")) *
           database_number(store, "PRAGMA page_size");
}

/* Remove windows, their hits and statistics, and the sums of their days. query: adds
 * the ids of the windows to table old, by the parameter that is bound to its '?'.
 * Returns the number of windows. */
static uint64_t
remove_windows(struct database *store, const char *query, uint64_t parameter)
{
    sqlite3_stmt *const statement = database_prepare(store, query);
    uint64_t windows;

    database_bind(store, statement, 1, parameter);
    database_execute(store, statement);
    sqlite3_finalize(statement);
    windows = database_number(store, "SELECT count(*) FROM old");
    database_run(store, "CREATE TEMP TABLE old_day AS SELECT DISTINCT " STORE_DAY
                        " AS day, host FROM window WHERE id IN old;"
                        "DELETE FROM folded WHERE (day, host) IN old_day;"
                        "DELETE FROM sums WHERE (day, host) IN old_day;"
                        "DROP TABLE old_day;"
                        "DELETE FROM hits WHERE window IN old;"
                        "DELETE FROM accounting WHERE window IN old;"
                        "DELETE FROM window WHERE id IN old;"
                        "DELETE FROM old");
    return windows;
}

/* Remove the oldest windows until the store is small enough. Each round removes the
 * share of windows by which the store is too large, and one more. Returns their
 * number. */
static uint64_t
remove_by_size(struct database *store, uint64_t bytes_max)
{
    uint64_t windows = 0;
    uint64_t bytes;

    while (!store->failed && (bytes = used_bytes(store)) > bytes_max) {
        const uint64_t all = database_number(store, "SELECT count(*) FROM window");
        const double share = (double)(bytes - bytes_max) / (double)bytes;

        if (all == 0) {
            break; /* the rest is tables and names */
        }
        windows += remove_windows(
            store, "INSERT INTO old SELECT id FROM window ORDER BY end_ns LIMIT ?",
            (uint64_t)((double)all * share) + 1);
    }
    return windows;
}

bool
sqlite_prune(struct store *store, const struct store_limits *limits, uint64_t *windows,
             struct pprof_error *error)
{
    struct database *const database = (struct database *)store;

    database_start(database, error);
    if (!database_run(database, "BEGIN IMMEDIATE; CREATE TEMP TABLE old(id INTEGER "
                                "PRIMARY KEY)")) {
        return false;
    }
    if (limits->before_ns != 0) {
        *windows = remove_windows(
            database, "INSERT INTO old SELECT id FROM window WHERE end_ns <= ?",
            (uint64_t)limits->before_ns);
    }
    if (limits->bytes_max != 0) {
        *windows += remove_by_size(database, limits->bytes_max);
    }
    /* Frames are kept: their callers' ids must stay below their own. */
    database_run(
        database,
        "DELETE FROM host WHERE id NOT IN (SELECT host FROM window);"
        "DELETE FROM origin WHERE id NOT IN (SELECT origin FROM window);"
        "DELETE FROM source WHERE id NOT IN (SELECT source FROM accounting);"
        "DELETE FROM place WHERE id NOT IN (SELECT place FROM hits);"
        "DELETE FROM process WHERE id NOT IN (SELECT process FROM hits);"
        "DELETE FROM unit WHERE id NOT IN (SELECT unit FROM hits);"
        "DELETE FROM image WHERE id NOT IN (SELECT image FROM place);"
        "DELETE FROM function WHERE id NOT IN (SELECT function FROM place) AND "
        "id NOT IN (SELECT function FROM frame);"
        "DROP TABLE old; COMMIT; PRAGMA incremental_vacuum");
    if (database->failed) {
        sqlite3_exec(database->db, "ROLLBACK", NULL, NULL, NULL);
    }
    return !database->failed;
}
