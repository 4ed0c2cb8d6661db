/* SPDX-License-Identifier: MIT */
/* open.c - makes and opens stores on servers, and looks after them. */
#include "store/clickhouse/schema.h"

#include "base/module_interface.h"
#include "store/clickhouse/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SQL_BYTES = 2048, CLUSTER_BYTES = 256 };

MODULE_INTERFACE(struct store_engine, clickhouse) = {
    .remote = true,
    .check_location = clickhouse_check_location,
    .create = clickhouse_create,
    .open = clickhouse_open,
    .close = clickhouse_close,
    .add = clickhouse_add,
    .read = clickhouse_read,
    .get_extent = clickhouse_get_extent,
    .get_names = clickhouse_get_names,
    .get_timeline = clickhouse_get_timeline,
    .get_statistics = clickhouse_get_statistics,
    .check = clickhouse_check,
    .prune = clickhouse_prune,
    .fold = clickhouse_fold,
    .places = clickhouse_places,
    .rename = clickhouse_rename,
    .upgrade = clickhouse_upgrade,
};

void
clickhouse_close(struct store *store)
{
    server_delete((struct server *)store);
}

/* ---- tables ---- */

/* Return whether the database has a table of this name, whatever its columns; false
 * after a failure. */
static bool
has_table(struct server *server, const char *name)
{
    char sql[SQL_BYTES];

    snprintf(sql, sizeof(sql),
             "SELECT count() FROM system.tables WHERE database = '%s' AND name = '%s' "
             "FORMAT RowBinary",
             server->database, name);
    return server_number(server, sql) != 0;
}

/* Check that a table has exactly the columns that it should have. Returns false with
 * the error set if not. */
static bool
check_columns(struct server *server, const struct clickhouse_table *table)
{
    char sql[SQL_BYTES];
    char why[128];
    struct row_binary_reader rows;
    struct buffer found = {0};
    struct buffer text = {0};
    const char *all;

    snprintf(sql, sizeof(sql),
             "SELECT name, type FROM system.columns WHERE database = '%s' AND table = "
             "'%s' FORMAT RowBinary",
             server->database, table->name);
    server_read(server, sql, &rows);
    while (row_binary_more(&rows)) {
        buffer_append_text(&found, found.size > 0 ? ", " : "");
        buffer_append_text(&found, row_binary_get_text(&rows, &text));
        buffer_append_text(&found, " ");
        buffer_append_text(&found, row_binary_get_text(&rows, &text));
    }
    server_end(server, &rows);
    all = buffer_text(&found);
    if (!server->failed && (all == NULL || strcmp(all, table->columns) != 0)) {
        snprintf(why, sizeof(why),
                 "table %s does not have the columns of a store of ntprof",
                 table->name);
        server_fail(server, why);
    }
    buffer_finish(&found);
    buffer_finish(&text);
    return !server->failed;
}

/* Check the columns of all tables. Returns false with the error set. */
static bool
check_tables(struct server *server)
{
    for (size_t i = 0; i < CLICKHOUSE_TABLES && !server->failed; i++) {
        check_columns(server, &clickhouse_tables[i]);
    }
    return !server->failed;
}

/* Make a table on one server, of the kind that keeps the last version of rows with the
 * same key if it has versions. */
static void
make_table(struct server *server, const struct clickhouse_table *table)
{
    const bool replaces = table->version != NULL;
    char sql[SQL_BYTES];

    snprintf(sql, sizeof(sql),
             "CREATE TABLE IF NOT EXISTS %s (%s) ENGINE = %sMergeTree%s%s%s %s",
             table->name, table->columns, replaces ? "Replacing" : "",
             replaces ? "(" : "", replaces ? table->version : "", replaces ? ")" : "",
             table->order);
    server_run(server, sql);
}

/* Make the table by which requests reach those of all servers of the cluster. */
static void
make_distributed_table(struct server *server, const struct clickhouse_table *table)
{
    char sql[SQL_BYTES];

    snprintf(sql, sizeof(sql),
             "CREATE TABLE IF NOT EXISTS %s ON CLUSTER '%s' (%s) ENGINE = "
             "Distributed('%s', '%s', '%s_local', cityHash64(%s))",
             table->name, server->cluster, table->columns, server->cluster,
             server->database, table->name, table->shard);
    server_run(server, sql);
}

/* Make a table of a cluster: one on each server, which the replicas of a shard keep the
 * same, and over them one that all requests name. Each server says in its macros which
 * shard and replica it is. */
static void
make_table_of_cluster(struct server *server, const struct clickhouse_table *table)
{
    const bool replaces = table->version != NULL;
    char sql[SQL_BYTES];

    snprintf(sql, sizeof(sql),
             "CREATE TABLE IF NOT EXISTS %s_local ON CLUSTER '%s' (%s) ENGINE = "
             "Replicated%sMergeTree('/clickhouse/tables/{shard}/%s/%s', "
             "'{replica}'%s%s) %s",
             table->name, server->cluster, table->columns, replaces ? "Replacing" : "",
             server->database, table->name, replaces ? ", " : "",
             replaces ? table->version : "", table->order);
    server_run(server, sql);
    make_distributed_table(server, table);
}

/* Make the tables that are not there: an earlier attempt may have been killed after
 * some of them. */
static void
make_tables(struct server *server)
{
    for (size_t i = 0; i < CLICKHOUSE_TABLES && !server->failed; i++) {
        if (server->cluster != NULL) {
            make_table_of_cluster(server, &clickhouse_tables[i]);
        } else {
            make_table(server, &clickhouse_tables[i]);
        }
    }
}

bool
clickhouse_create(const struct store_url *url, const char *cluster,
                  struct pprof_error *error)
{
    struct server *const server = server_new(url, error);
    char sql[SQL_BYTES];
    bool done;

    if (server == NULL) {
        return false;
    }
    if (cluster == NULL || server_set_cluster(server, cluster)) {
        snprintf(sql, sizeof(sql), "CREATE DATABASE IF NOT EXISTS %s%s%s%s",
                 server->database, cluster != NULL ? " ON CLUSTER '" : "",
                 cluster != NULL ? cluster : "", cluster != NULL ? "'" : "");
        server_run_outside(server, sql);
    }
    if (has_table(server, "ntprof")) {
        server_fail(server, "exists already; a store is made in a new database");
    }
    make_tables(server);
    check_tables(server);
    snprintf(sql, sizeof(sql), "INSERT INTO ntprof VALUES (%d)", CLICKHOUSE_VERSION);
    server_run(server, sql);
    done = !server->failed;
    server_delete(server);
    return done;
}

/* Find out whether the store belongs to a cluster, and set it: its tables are then of
 * the kind Distributed('CLUSTER', ...), with or without the quotation marks. Returns
 * false with the error set. */
static bool
find_cluster(struct server *server)
{
    char name[CLUSTER_BYTES] = "";
    struct row_binary_reader rows;
    struct buffer text = {0};
    char sql[SQL_BYTES];

    snprintf(sql, sizeof(sql),
             "SELECT extract(engine_full, '^Distributed.\\'?([A-Za-z0-9_-]+)') FROM "
             "system.tables WHERE database = '%s' AND name = 'hits' FORMAT RowBinary",
             server->database);
    server_read(server, sql, &rows);
    if (row_binary_more(&rows)) {
        snprintf(name, sizeof(name), "%s", row_binary_get_text(&rows, &text));
    }
    server_end(server, &rows);
    buffer_finish(&text);
    return !server->failed && (name[0] == '\0' || server_set_cluster(server, name));
}

/* The version that store_upgrade converts. */
enum { VERSION_BEFORE = 2 };

/* Set the error for a store whose tables are not of the version that this program uses;
 * 0 if table ntprof has no row. */
static void
fail_version(struct server *server, uint64_t version)
{
    server_fail(server,
                version == 0
                    ? "is not whole: ntprof store init was interrupted; drop the table "
                      "ntprof and run it again"
                : version == VERSION_BEFORE
                    ? STORE_TO_UPGRADE("clickhouse://HOST/DATABASE", "")
                    : "is a store of another version of ntprof: this one reads version "
                      "3 of the tables only");
}

/* Connect to a store of any version; *version is that of its tables, 0 if table ntprof
 * has no row. Returns NULL with the error set. */
static struct server *
open_any(const struct store_url *url, uint64_t *version, struct pprof_error *error)
{
    struct server *const server = server_new(url, error);

    *version = 0;
    if (server == NULL) {
        return NULL;
    }
    if (!has_table(server, "ntprof")) {
        server_fail(server, "there is no such store; to make one: ntprof store init "
                            "clickhouse://HOST/DATABASE");
    } else if (check_columns(server, &clickhouse_tables[CLICKHOUSE_TABLES - 1]) &&
               find_cluster(server)) { /* the last table is ntprof */
        *version = server_number(server, "SELECT max(version) FROM ntprof FORMAT "
                                         "RowBinary");
    }
    if (server->failed) {
        server_delete(server);
        return NULL;
    }
    return server;
}

struct store *
clickhouse_open(const struct store_url *url, bool write, struct pprof_error *error)
{
    uint64_t version;
    struct server *const server = open_any(url, &version, error);

    (void)write; /* the server knows what the user may do */
    if (server != NULL && version != CLICKHOUSE_VERSION) {
        fail_version(server, version);
        server_delete(server);
        return NULL;
    }
    return server != NULL ? &server->store : NULL;
}

/* Return whether a table has a column; false after a failure. */
static bool
has_column(struct server *server, const char *table, const char *column)
{
    char sql[SQL_BYTES];

    snprintf(
        sql, sizeof(sql),
        "SELECT count() FROM system.columns WHERE database = '%s' AND table = '%s' "
        "AND name = '%s' FORMAT RowBinary",
        server->database, table, column);
    return server_number(server, sql) != 0;
}

/* What a table of version 2 lacks. Its rows have empty values there. */
static const struct {
    const char *table;
    const char *last; /* last of the new columns */
    const char *change;
} added_columns[] = {
    {"places", "caller_addresses",
     "ADD COLUMN definition String AFTER quality, "
     "ADD COLUMN has_address UInt8 AFTER definition, "
     "ADD COLUMN function_address UInt64 AFTER has_address, "
     "ADD COLUMN caller_definitions Array(String) AFTER function_address, "
     "ADD COLUMN caller_has_addresses Array(UInt8) AFTER caller_definitions, "
     "ADD COLUMN caller_addresses Array(UInt64) AFTER caller_has_addresses"},
    {"accounting", "outside_kernel", "ADD COLUMN outside_kernel UInt64 AFTER excluded"},
};

/* Make a change to a table, which adds the column last and others at once. */
static void
change_table(struct server *server, const char *table, const char *last,
             const char *change)
{
    const char *const cluster = server->cluster;
    char sql[SQL_BYTES];

    /* If the last column is there, an earlier attempt to upgrade added it, and was
     * killed. */
    if (!has_column(server, table, last)) {
        snprintf(sql, sizeof(sql), "ALTER TABLE %s%s%s%s %s", table,
                 cluster != NULL ? " ON CLUSTER '" : "", cluster != NULL ? cluster : "",
                 cluster != NULL ? "'" : "", change);
        server_run(server, sql);
    }
}

/* Make a table over those of a cluster anew, as it has no rows of its own: servers
 * refuse to alter such tables on all servers at once. */
static void
remake_distributed_table(struct server *server, const char *name)
{
    char sql[SQL_BYTES];

    snprintf(sql, sizeof(sql), "DROP TABLE IF EXISTS %s ON CLUSTER '%s'", name,
             server->cluster);
    server_run(server, sql);
    for (size_t i = 0; i < CLICKHOUSE_TABLES; i++) {
        if (strcmp(clickhouse_tables[i].name, name) == 0) {
            make_distributed_table(server, &clickhouse_tables[i]);
        }
    }
}

/* Add the columns that version 2 lacks; in a cluster to the servers' own tables, which
 * have the rows. */
static void
add_columns(struct server *server)
{
    char local[64];

    for (size_t i = 0; i < sizeof(added_columns) / sizeof(added_columns[0]); i++) {
        const char *const table = added_columns[i].table;
        const char *const last = added_columns[i].last;

        if (server->cluster != NULL) {
            snprintf(local, sizeof(local), "%s_local", table);
            change_table(server, local, last, added_columns[i].change);
            remake_distributed_table(server, table);
        } else {
            change_table(server, table, last, added_columns[i].change);
        }
    }
}

bool
clickhouse_upgrade(const struct store_url *url, struct pprof_error *error)
{
    uint64_t version;
    struct server *const server = open_any(url, &version, error);
    char sql[SQL_BYTES];
    bool done;

    if (server == NULL) {
        return false;
    }
    if (version == VERSION_BEFORE) {
        add_columns(server);
        check_tables(server);
        snprintf(sql, sizeof(sql), "INSERT INTO ntprof VALUES (%d)",
                 CLICKHOUSE_VERSION);
        server_run(server, sql);
    } else if (version != CLICKHOUSE_VERSION) {
        fail_version(server, version);
    }
    done = !server->failed;
    server_delete(server);
    return done;
}

/* ---- upkeep ---- */

bool
clickhouse_get_statistics(struct store *store, struct store_statistics *statistics,
                          struct pprof_error *error)
{
    struct server *const server = (struct server *)store;

    server_start(server, error);
    *statistics = (struct store_statistics){
        .bytes = server_bytes(server),
        .hosts = server_number(server,
                               "SELECT uniqExact(host) FROM windows FORMAT RowBinary"),
        .windows =
            server_number(server, "SELECT count() FROM (SELECT host FROM windows GROUP "
                                  "BY host, epoch, start_ns) FORMAT RowBinary"),
        .rows = server_number(server, "SELECT count() FROM hits FORMAT RowBinary"),
        .places = server_number(
            server, "SELECT count() FROM (SELECT image FROM places GROUP BY image, "
                    "bias, address, variant) FORMAT RowBinary"),
        .first_ns = (int64_t)server_number(
            server, "SELECT min(start_ns) FROM windows FORMAT RowBinary"),
        .last_ns = (int64_t)server_number(
            server, "SELECT max(end_ns) FROM windows FORMAT RowBinary"),
    };
    return !server->failed;
}

bool
clickhouse_check(struct store *store, struct pprof_error *error)
{
    /* Counts sources of windows whose rows have more hits than their statistics. Left
     * out: windows that are not complete yet, which have no row in table windows, and
     * those of other tools' files, which have no statistics (n = 0). */
    static const char more_than_counted[] =
        "SELECT count() FROM (SELECT host, epoch, start_ns, source, period, sum(c) "
        "AS s FROM (SELECT host, epoch, start_ns, source, period, max(count) AS c "
        "FROM hits GROUP BY host, epoch, start_ns, source, period, process, unit, "
        "image, bias, address, variant) GROUP BY host, epoch, start_ns, source, "
        "period) ANY INNER JOIN (SELECT host, epoch, start_ns, source, period, "
        "max(counted) AS n FROM accounting WHERE (host, epoch, start_ns) GLOBAL IN "
        "(SELECT "
        "host, epoch, start_ns FROM windows) GROUP BY host, epoch, start_ns, source, "
        "period) USING (host, epoch, start_ns, source, period) WHERE n > 0 AND s > "
        "n FORMAT RowBinary";
    struct server *const server = (struct server *)store;

    server_start(server, error);
    check_tables(server);
    if (server_number(server, more_than_counted) != 0) {
        server_fail(server, "windows have more hits in their rows than were counted");
    }
    if (server_number(server, "SELECT count() FROM accounting WHERE outside > taken OR "
                              "outside_kernel > outside FORMAT RowBinary") != 0) {
        server_fail(server, STORE_CONTRADICTION);
    }
    return !server->failed;
}
