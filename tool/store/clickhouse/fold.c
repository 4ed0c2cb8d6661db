/* SPDX-License-Identifier: MIT */
/*
 * fold.c - sums of past days, and removing old ones.
 *
 * A day's sums are made anew from its windows and put in the place of the old ones at
 * once, so folding again changes nothing. With them goes a row with a hash of the day's
 * windows before they were added up, so of two processes that fold a day at once either
 * leaves sums and a hash that belong together. Readers use them only if the day still
 * has the same hash: a window comes after all of its hits, so the sums have all windows
 * of the hash. The rows themselves stay.
 */
#include "store/clickhouse/schema.h"
#include "store/clickhouse/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DAY_NS UINT64_C(86400000000000)

enum { SQL_BYTES = 2048, DAYS_MAX = 4096, DAY_S = 86400 };

/* At most about so many rows are added up at a time, those of some of the hosts: the
 * server keeps what it adds up in memory. */
enum { ROWS_AT_A_TIME = 1 << 20 };

/* Days whose windows have all ended, and some of which were added since they were
 * folded; an hour is left for stragglers. */
#define DAYS_TO_FOLD                                                                 \
    "SELECT toUInt64(toUInt16(day)) FROM (SELECT toDate(intDiv(start_ns, "           \
    "86400000000000)) AS day, " WINDOWS_HASH " AS a, max(end_ns) AS e FROM windows " \
    "GROUP BY day) ANY LEFT JOIN (" FOLDED_DAYS ") USING (day) WHERE a != f AND "    \
    "e < (toUInt64(now()) - 3600) * 1000000000 AND "                                 \
    "toUInt64(toUInt16(day) + 1) * 86400 <= toUInt64(now()) - 3600 ORDER BY day "    \
    "FORMAT RowBinary"

#define SUM_KEYS \
    "day, hour, host, source, period, process, unit, image, bias, address, variant"

/* Read the days that a query yields, at most DAYS_MAX of them. Returns their number; 0
 * after a failure. */
static size_t
read_days(struct server *server, const char *sql, uint64_t days[DAYS_MAX])
{
    struct row_binary_reader rows;
    size_t count = 0;

    server_read(server, sql, &rows);
    while (row_binary_more(&rows) && count < DAYS_MAX) {
        days[count++] = row_binary_get(&rows, sizeof(days[0]));
    }
    if (count < DAYS_MAX) { /* otherwise the answer may have more */
        server_end(server, &rows);
    }
    return server->failed ? 0 : count;
}

/* Write a day as YYYY-MM-DD, as partitions are named. */
static void
show_day(uint64_t day, char *text, size_t size)
{
    const time_t seconds = (time_t)(day * DAY_S);
    struct tm date = {0};

    gmtime_r(&seconds, &date);
    strftime(text, size, "%Y-%m-%d", &date);
}

/* Drop the table folding_OWN, in which a day's sums were made; also after a failure. As
 * requests do nothing while server->failed is set, that failure is put aside for the
 * request and set again. */
static void
drop_folding(struct server *server, long own)
{
    struct pprof_error *const error = server->error;
    const bool failed = server->failed;
    struct pprof_error of_drop;
    char sql[SQL_BYTES];

    if (failed) {
        server_start(server, &of_drop);
    }
    snprintf(sql, sizeof(sql), "DROP TABLE IF EXISTS folding_%ld", own);
    server_run(server, sql);
    if (failed) {
        server->error = error;
        server->failed = true;
    }
}

/* Add up the hits of a day into the table folding_OWN. Hosts are divided into as many
 * parts as keep ROWS_AT_A_TIME, and one part is added up after the other. */
static void
sum_up_day(struct server *server, uint64_t day, long own)
{
    char sql[SQL_BYTES];
    uint64_t parts;

    snprintf(sql, sizeof(sql),
             "SELECT toUInt64(count()) FROM hits WHERE day = toDate(%" PRIu64
             ") FORMAT RowBinary",
             day);
    parts = server_number(server, sql) / ROWS_AT_A_TIME + 1;
    for (uint64_t part = 0; part < parts && !server->failed; part++) {
        snprintf(sql, sizeof(sql),
                 "INSERT INTO folding_%ld(" SUM_KEYS ", count) SELECT " SUM_KEYS
                 ", sum(c) FROM (SELECT " SUM_KEYS
                 ", max(count) AS c FROM hits PREWHERE day = toDate(%" PRIu64
                 ") AND cityHash64(host) %% %" PRIu64 " = %" PRIu64
                 " WHERE (host, epoch, start_ns) GLOBAL IN (SELECT host, epoch, "
                 "start_ns FROM windows) GROUP BY " SUM_KEYS
                 ", epoch, start_ns) GROUP BY " SUM_KEYS,
                 own, day, parts, part);
        server_run(server, sql);
    }
}

/* Make the sums of a day in a table folding_OWN of this process alone, which then
 * replaces the day's partition of table sums as a whole. */
static void
fold_day(struct server *server, uint64_t day)
{
    char sql[SQL_BYTES];
    const long own = random();
    char shown[16];

    snprintf(sql, sizeof(sql), "CREATE TABLE folding_%ld AS sums", own);
    server_run(server, sql);
    snprintf(sql, sizeof(sql),
             "INSERT INTO folding_%ld(day, source, address) SELECT toDate(%" PRIu64
             "), '', " WINDOWS_HASH " FROM windows WHERE "
             "toDate(intDiv(start_ns, 86400000000000)) = toDate(%" PRIu64 ")",
             own, day, day);
    server_run(server, sql);
    sum_up_day(server, day, own);
    show_day(day, shown, sizeof(shown));
    snprintf(sql, sizeof(sql),
             "ALTER TABLE sums REPLACE PARTITION '%s' FROM folding_%ld", shown, own);
    server_run(server, sql);
    drop_folding(server, own);
}

bool
clickhouse_fold(struct store *store, uint64_t *days, struct pprof_error *error)
{
    struct server *const server = (struct server *)store;
    uint64_t *const list = calloc(DAYS_MAX, sizeof(*list));
    size_t count;

    server_start(server, error);
    if (server->cluster != NULL) {
        free(list);
        return server_fail(server, "the store of a cluster is not folded; its reports "
                                   "add up the windows");
    }
    if (list == NULL) {
        return server_fail_memory(server);
    }
    /* For the names of tables, which no other fold may use. */
    srandom(
        (unsigned)server_number(server, "SELECT toUInt64(rand()) FORMAT RowBinary"));
    count = read_days(server, DAYS_TO_FOLD, list);
    for (size_t i = 0; i < count && !server->failed; i++) {
        fold_day(server, list[i]);
    }
    *days = server->failed ? 0 : count;
    free(list);
    return !server->failed;
}

/* ---- removing days ---- */

/* Remove a day's partition from a table; in a cluster from the tables of all
 * servers. */
static void
drop_day(struct server *server, const char *table, uint64_t day)
{
    char sql[SQL_BYTES];
    char shown[16];

    show_day(day, shown, sizeof(shown));
    if (server->cluster != NULL) {
        snprintf(sql, sizeof(sql),
                 "ALTER TABLE %s_local ON CLUSTER '%s' DROP PARTITION '%s'", table,
                 server->cluster, shown);
    } else {
        snprintf(sql, sizeof(sql), "ALTER TABLE %s DROP PARTITION '%s'", table, shown);
    }
    server_run(server, sql);
}

/* Remove the days of a table that are before end_day and meet a condition in SQL, which
 * begins with AND or is empty. list: room for the days. */
static void
drop_days(struct server *server, const char *table, const char *condition,
          uint64_t end_day, uint64_t list[DAYS_MAX])
{
    char sql[SQL_BYTES];
    size_t count;

    snprintf(
        sql, sizeof(sql),
        "SELECT DISTINCT toUInt64(toUInt16(day)) FROM %s WHERE day < toDate(%" PRIu64
        ") %s FORMAT RowBinary",
        table, end_day, condition);
    count = read_days(server, sql, list);
    for (size_t i = 0; i < count; i++) {
        drop_day(server, table, list[i]);
    }
}

/* Remove windows that ended before end_day, then rows of hits and accounting of days
 * before it that have no window left, and all sums of days before it. Names stay:
 * agents send each once. Returns the number of windows. list: room for days. */
static uint64_t
drop_before(struct server *server, uint64_t end_day, uint64_t list[DAYS_MAX])
{
    static const char *const tables[] = {"hits", "accounting"};
    static const char no_window[] =
        "AND day GLOBAL NOT IN (SELECT toDate(intDiv(start_ns, 86400000000000)) FROM "
        "windows)";
    char sql[SQL_BYTES];
    uint64_t windows;

    snprintf(sql, sizeof(sql),
             "SELECT count() FROM (SELECT host FROM windows WHERE day < toDate(%" PRIu64
             ") GROUP BY host, epoch, start_ns) FORMAT RowBinary",
             end_day);
    windows = server_number(server, sql);
    /* Sums of a day that has windows left would still contain the removed ones. */
    drop_days(server, "sums", "", end_day, list);
    drop_days(server, "windows", "", end_day, list);
    for (size_t i = 0; i < 2; i++) {
        drop_days(server, tables[i], no_window, end_day, list);
    }
    return windows;
}

/* Remove the windows that start before end_day, also those that end later: agents have
 * one at each midnight. All of their hits go, too. The server removes these windows
 * some time after it has answered; until then they are windows without hits. list: room
 * for days. */
static void
drop_started(struct server *server, uint64_t end_day, uint64_t list[DAYS_MAX])
{
    static const char *const tables[] = {"sums", "windows", "hits", "accounting"};
    char table[SQL_BYTES / 2] = "windows";
    char sql[SQL_BYTES];

    if (server->cluster != NULL) {
        snprintf(table, sizeof(table), "windows_local ON CLUSTER '%s'",
                 server->cluster);
    }
    snprintf(sql, sizeof(sql), "ALTER TABLE %s DELETE WHERE start_ns < %" PRIu64, table,
             end_day * DAY_NS);
    server_run(server, sql);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        drop_days(server, tables[i], "", end_day, list);
    }
}

/* Remove whole days, the oldest first, until the store has at most bytes_max bytes.
 * Returns the number of windows that were removed. list: room for days. */
static uint64_t
drop_by_size(struct server *server, uint64_t bytes_max, uint64_t list[DAYS_MAX])
{
    uint64_t windows = 0;
    uint64_t from_day = 0; /* windows that start before it were counted */
    char sql[SQL_BYTES];

    while (server_bytes(server) > bytes_max && !server->failed) {
        const size_t days =
            read_days(server,
                      "SELECT DISTINCT toUInt64(toUInt16(day)) AS d FROM "
                      "windows ORDER BY d LIMIT 1 FORMAT RowBinary",
                      list);
        const uint64_t end_day = list[0] + 1;

        if (days == 0) {
            break; /* the rest is names */
        }
        snprintf(sql, sizeof(sql),
                 "SELECT count() FROM (SELECT host FROM windows WHERE start_ns >= "
                 "%" PRIu64 " AND start_ns < %" PRIu64
                 " GROUP BY host, epoch, start_ns) FORMAT RowBinary",
                 from_day * DAY_NS, end_day * DAY_NS);
        windows += server_number(server, sql);
        drop_started(server, end_day, list);
        from_day = end_day;
    }
    return windows;
}

bool
clickhouse_prune(struct store *store, const struct store_limits *limits,
                 uint64_t *windows, struct pprof_error *error)
{
    struct server *const server = (struct server *)store;
    uint64_t *const list = calloc(DAYS_MAX, sizeof(*list));

    server_start(server, error);
    if (list == NULL) {
        return server_fail_memory(server);
    }
    if (limits->before_ns != 0) {
        *windows = drop_before(
            server, (uint64_t)(limits->before_ns / STORE_SECOND_NS / DAY_S), list);
    }
    if (limits->bytes_max != 0) {
        *windows += drop_by_size(server, limits->bytes_max, list);
    }
    free(list);
    return !server->failed;
}
