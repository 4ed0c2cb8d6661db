/* SPDX-License-Identifier: MIT */
/* upkeep.c - what a store contains, whether it is whole, and removing old windows. */
#include "store/database.h"

#include <string.h>

bool
store_get_statistics(struct store *store, struct store_statistics *statistics,
                     struct pprof_error *error)
{
    store_start(store, error);
    store_run(store, "BEGIN");
    *statistics = (struct store_statistics){
        .bytes = store_number(store, "PRAGMA page_count") *
                 store_number(store, "PRAGMA page_size"),
        .hosts = store_number(store, "SELECT count(*) FROM host"),
        .windows = store_number(store, "SELECT count(*) FROM window"),
        .rows = store_number(store, "SELECT count(*) FROM hits"),
        .places = store_number(store, "SELECT count(*) FROM place"),
        .first_ns = (int64_t)store_number(store, "SELECT min(start_ns) FROM window"),
        .last_ns = (int64_t)store_number(store, "SELECT max(end_ns) FROM window"),
    };
    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return !store->failed;
}

bool
store_check(struct store *store, struct pprof_error *error)
{
    static const struct {
        const char *sql; /* number of faults */
        const char *what;
    } faults[] = {
        {"SELECT count(*) FROM hits WHERE window NOT IN (SELECT id FROM window) OR "
         "place NOT IN (SELECT id FROM place) OR process NOT IN (SELECT id FROM "
         "process) OR source NOT IN (SELECT id FROM source)",
         "rows of hits lead nowhere"},
        {"SELECT count(*) FROM place WHERE image NOT IN (SELECT id FROM image) OR "
         "function NOT IN (SELECT id FROM function) OR frame NOT IN (SELECT id FROM "
         "frame)",
         "places lead nowhere"},
        {"SELECT count(*) FROM frame WHERE caller >= id OR function NOT IN (SELECT id "
         "FROM function)",
         "inlined calls lead nowhere"},
        {"SELECT count(*) FROM hits WHERE count <= 0", "rows have no hits"},
        /* Files of other tools have no statistics. */
        {"SELECT count(*) FROM (SELECT 1 FROM accounting JOIN hits USING(window, "
         "source) GROUP BY accounting.window, accounting.source HAVING counted > 0 "
         "AND sum(count) > counted)",
         "windows have more hits in their rows than were counted"},
    };
    sqlite3_stmt *statement;

    store_start(store, error);
    statement = store_prepare(store, "PRAGMA integrity_check(1)");
    if (store_step(store, statement) &&
        strcmp(store_column_text(statement, 0), "ok") != 0) {
        store_fail(store, store_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (store_number(store, faults[i].sql) != 0) {
            store_fail(store, faults[i].what);
        }
    }
    return !store->failed;
}

bool
store_prune(struct store *store, int64_t before_ns, uint64_t *windows,
            struct pprof_error *error)
{
    sqlite3_stmt *statement;

    *windows = 0;
    store_start(store, error);
    if (!store_run(store, "BEGIN IMMEDIATE; CREATE TEMP TABLE old(id INTEGER PRIMARY "
                          "KEY)")) {
        return false;
    }
    statement =
        store_prepare(store, "INSERT INTO old SELECT id FROM window WHERE end_ns <= ?");
    store_bind(store, statement, 1, (uint64_t)before_ns);
    while (store_step(store, statement)) {
    }
    sqlite3_finalize(statement);
    *windows = store_number(store, "SELECT count(*) FROM old");
    /* Frames are kept: their callers' ids must stay below their own. */
    store_run(store,
              "DELETE FROM hits WHERE window IN old;"
              "DELETE FROM accounting WHERE window IN old;"
              "DELETE FROM window WHERE id IN old;"
              "DELETE FROM host WHERE id NOT IN (SELECT host FROM window);"
              "DELETE FROM source WHERE id NOT IN (SELECT source FROM accounting);"
              "DELETE FROM place WHERE id NOT IN (SELECT place FROM hits);"
              "DELETE FROM process WHERE id NOT IN (SELECT process FROM hits);"
              "DELETE FROM image WHERE id NOT IN (SELECT image FROM place);"
              "DELETE FROM function WHERE id NOT IN (SELECT function FROM place) AND "
              "id NOT IN (SELECT function FROM frame);"
              "DROP TABLE old; COMMIT; PRAGMA incremental_vacuum");
    if (store->failed) {
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    }
    return !store->failed;
}
