/* SPDX-License-Identifier: MIT */
/* overview.c - what there is to select, and hits over time (store/overview.h). */
#include "store/clickhouse/query.h"
#include "store/clickhouse/schema.h"
#include "store/clickhouse/server.h"

#include <inttypes.h>
#include <stdio.h>

enum { SQL_BYTES = 512, HOUR_S = 3600, DAY_S = 86400 };

/* Add the texts that a query yields to a set: OVERVIEW_NAMES_MAX at most, 2000. */
static void
read_names(struct server *server, const char *sql, struct string_set *set)
{
    struct row_binary_reader rows;
    struct buffer text = {0};

    server_read(server, sql, &rows);
    while (row_binary_more(&rows)) {
        if (!overview_add(set, row_binary_get_text(&rows, &text))) {
            server_fail_memory(server);
        }
    }
    server_end(server, &rows);
    buffer_finish(&text);
}

bool
clickhouse_get_extent(struct store *store, int64_t *first_ns, int64_t *last_ns,
                      struct pprof_error *error)
{
    struct server *const server = (struct server *)store;

    server_start(server, error);
    *first_ns = (int64_t)server_number(
        server, "SELECT min(start_ns) FROM windows FORMAT RowBinary");
    *last_ns = (int64_t)server_number(
        server, "SELECT max(end_ns) FROM windows FORMAT RowBinary");
    return !server->failed;
}

/* Read the units that have hits in the last hour of the selected time: the rows of a
 * longer time are too many to read. */
static void
read_units(struct server *server, const struct store_selection *selection,
           struct store_overview *overview)
{
    const int64_t hour = selection->until_ns / STORE_SECOND_NS / HOUR_S;
    char sql[SQL_BYTES];

    snprintf(sql, sizeof(sql),
             "SELECT DISTINCT unit FROM hits WHERE day >= toDate(%" PRId64
             ") AND day <= toDate(%" PRId64 ") AND hour >= %" PRId64
             " AND hour <= %" PRId64 " ORDER BY unit LIMIT 2000 FORMAT RowBinary",
             (hour - 1) * HOUR_S / DAY_S, hour * HOUR_S / DAY_S, hour - 1, hour);
    read_names(server, sql, &overview->units);
}

bool
clickhouse_get_names(struct store *store, const struct store_selection *selection,
                     struct store_overview *overview, struct pprof_error *error)
{
    struct server *const server = (struct server *)store;

    server_start(server, error);
    server->answer_bytes_max = SERVER_ROWS_BYTES_MAX;
    read_names(server,
               "SELECT DISTINCT host FROM windows ORDER BY host LIMIT 2000 FORMAT "
               "RowBinary",
               &overview->hosts);
    read_names(server,
               "SELECT DISTINCT concat(build_id, ' ', path) AS b FROM images WHERE "
               "build_id != '' ORDER BY b LIMIT 2000 FORMAT RowBinary",
               &overview->builds);
    read_names(server,
               "SELECT DISTINCT source FROM accounting ORDER BY source LIMIT 2000 "
               "FORMAT RowBinary",
               &overview->sources);
    read_names(server,
               "SELECT DISTINCT arrayJoin(labels) AS l FROM windows ORDER BY l LIMIT "
               "2000 FORMAT RowBinary",
               &overview->labels);
    read_names(server,
               "SELECT DISTINCT path FROM images ORDER BY path LIMIT 2000 FORMAT "
               "RowBinary",
               &overview->images);
    read_names(server,
               "SELECT concat(toString(period), ' ', unit, ' ', source) FROM "
               "(SELECT DISTINCT source, period, unit FROM accounting WHERE period > 0 "
               "ORDER BY source, period, unit LIMIT 2000) FORMAT RowBinary",
               &overview->intervals);
    read_units(server, selection, overview);
    return !server->failed;
}

static uint64_t
day_of(int64_t time_ns)
{
    return (uint64_t)(time_ns / STORE_SECOND_NS / DAY_S);
}

bool
clickhouse_get_timeline(struct store *store, const struct store_selection *selection,
                        struct store_overview *overview, struct pprof_error *error)
{
    struct server *const server = (struct server *)store;
    const uint64_t first_day = day_of(selection->since_ns);
    const uint64_t last_day = day_of(selection->until_ns);
    /* Rows have the day of their window's start. A window that started on the day
     * before may still extend into the time selected. */
    const struct query_range range = {
        .first_day = first_day > 0 ? first_day - 1 : 0,
        .last_day = last_day < CLICKHOUSE_DAY_MAX ? last_day : CLICKHOUSE_DAY_MAX};
    struct row_binary_reader rows;
    struct buffer sql = {0};

    server_start(server, error);
    query_timeline(&sql, selection, &range, overview);
    if (buffer_text(&sql) == NULL) {
        buffer_finish(&sql);
        return server_fail_memory(server);
    }
    server_read(server, buffer_text(&sql), &rows);
    while (row_binary_more(&rows)) {
        const uint64_t slot = row_binary_get(&rows, sizeof(slot));
        const uint64_t interval = row_binary_get(&rows, sizeof(interval));

        overview_add_hits(overview, slot, interval,
                          row_binary_get(&rows, sizeof(uint64_t)));
    }
    server_end(server, &rows);
    buffer_finish(&sql);
    return !server->failed;
}
