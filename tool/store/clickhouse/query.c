/* SPDX-License-Identifier: MIT */
/* query.c - composes the SQL. Texts that others may have chosen are put by sql.h only,
 * which escapes them. */
#include "store/clickhouse/query.h"
#include "store/clickhouse/rows.h"
#include "store/clickhouse/sql.h"

#include <inttypes.h>

/* Condition that a window is of an agent: the epoch of a single recording begins with
 * STORE_EPOCH_FILE. */
#define OF_AGENT "substring(epoch, 1, 5) != 'file '"

/* ---- conditions ---- */

void
query_windows(struct buffer *sql, const struct store_selection *selection)
{
    buffer_append_text(sql, "1");
    if (selection->since_ns != 0) {
        /* In table windows the day is that of the end: so old partitions are not
         * read. */
        buffer_print(sql, " AND day >= toDate(%" PRId64 ") AND end_ns > %" PRId64,
                     selection->since_ns / 1000000000 / 86400, selection->since_ns);
    }
    if (selection->until_ns != 0) {
        buffer_print(sql, " AND start_ns < %" PRId64, selection->until_ns);
    }
    if (selection->host != NULL) {
        buffer_append_text(sql, " AND ");
        sql_put_glob(sql, "host", selection->host);
    }
    for (size_t i = 0; i < selection->label_count; i++) {
        buffer_append_text(sql, " AND (has(labels, ");
        sql_put_text(sql, selection->labels[i]);
        buffer_append_text(sql, ") OR concat('boot=', boot) = ");
        sql_put_text(sql, selection->labels[i]);
        buffer_append_text(sql, ")");
    }
}

/* Put the condition by which tables accounting and hits have only rows of selected
 * windows. The row in table windows is sent last, so rows whose window is not there are
 * of one that is not complete yet, and are left out. In these tables, as in range, the
 * day is that of the window's start. */
static void
put_window_condition(struct buffer *sql, const struct store_selection *selection,
                     const struct query_range *range)
{
    buffer_print(
        sql,
        "day >= toDate(%" PRIu64 ") AND day <= toDate(%" PRIu64
        ") AND (host, epoch, start_ns) GLOBAL IN (SELECT host, epoch, start_ns FROM "
        "windows WHERE ",
        range->first_day, range->last_day);
    query_windows(sql, selection);
    buffer_append_text(sql, ")");
}

/* Put the conditions for source and interval, if they are selected. */
static void
put_source_condition(struct buffer *sql, const struct store_selection *selection)
{
    if (selection->source != NULL) {
        buffer_append_text(sql, " AND source = ");
        sql_put_text(sql, selection->source);
    }
    if (selection->interval != 0) {
        buffer_print(sql, " AND period = %" PRIu64, selection->interval);
    }
}

/* Put the conditions of a selection for columns that both hits and sums have: source,
 * interval, unit and image. */
static void
put_row_conditions(struct buffer *sql, const struct store_selection *selection)
{
    put_source_condition(sql, selection);
    if (selection->unit != NULL) {
        buffer_append_text(sql, " AND ");
        sql_put_glob(sql, "unit", selection->unit);
    }
    if (selection->image == NULL && selection->build_id == NULL) {
        return;
    }
    buffer_append_text(sql, " AND image GLOBAL IN (SELECT image FROM images WHERE 1");
    if (selection->image != NULL) {
        buffer_append_text(sql, " AND ");
        sql_put_glob(sql, "path", selection->image);
    }
    if (selection->build_id != NULL) {
        buffer_append_text(sql, " AND ");
        sql_put_prefix(sql, "build_id", selection->build_id);
    }
    buffer_append_text(sql, ")");
}

/* ---- windows ---- */

/* Put a query that has each selected window once, in its latest state. */
static void
put_last_windows(struct buffer *sql, const struct store_selection *selection)
{
    buffer_append_text(
        sql, "(SELECT host, epoch, start_ns, max(end_ns) AS e, any(backend) AS b, "
             "any(limits) AS l, any(gaps) AS g, max(bucket_bytes) AS k FROM windows "
             "WHERE ");
    query_windows(sql, selection);
    buffer_append_text(sql, " GROUP BY host, epoch, start_ns)");
}

void
query_header(struct buffer *sql, const struct store_selection *selection)
{
    buffer_append_text(
        sql, "SELECT count(), uniqExact(host), min(start_ns), max(start_ns), max(e), "
             "sum(e - start_ns), toUInt64(min(k)), toUInt64(max(k)), "
             "arrayStringConcat(groupUniqArray(b), ', '), "
             "arrayStringConcat(arrayFilter(x -> x != '', groupUniqArray(l)), '; '), "
             "arrayStringConcat(arrayFilter(x -> x != '', groupUniqArray(g)), '; ') "
             "FROM ");
    put_last_windows(sql, selection);
    buffer_append_text(sql, " FORMAT RowBinary");
}

void
query_coverage(struct buffer *sql, const struct store_selection *selection,
               int64_t start_ns, int64_t end_ns)
{
    buffer_print(sql,
                 "SELECT host, count(), sum(toInt64(if(e < %" PRId64 ", e, %" PRId64
                 ")) - toInt64(if(start_ns > %" PRId64 ", start_ns, %" PRId64
                 "))) FROM ",
                 end_ns, end_ns, start_ns, start_ns);
    put_last_windows(sql, selection);
    buffer_append_text(sql, " WHERE " OF_AGENT
                            " GROUP BY host ORDER BY host FORMAT RowBinary");
}

void
query_other_hosts(struct buffer *sql, const struct store_selection *selection)
{
    buffer_append_text(sql, "SELECT DISTINCT host FROM windows WHERE " OF_AGENT);
    if (selection->host != NULL) {
        buffer_append_text(sql, " AND ");
        sql_put_glob(sql, "host", selection->host);
    }
    buffer_append_text(sql, " AND host GLOBAL NOT IN (SELECT host FROM windows WHERE ");
    query_windows(sql, selection);
    buffer_append_text(sql, ") ORDER BY host FORMAT RowBinary");
}

/* ---- sources ---- */

/* The measured interval is the mean of those of windows, weighted with hits taken (f1);
 * without any the divisor is 1. */
void
query_sources(struct buffer *sql, const struct store_selection *selection,
              const struct query_range *range)
{
    buffer_append_text(
        sql,
        "SELECT source, any(n), any(u), period, min(k), min(o), max(a), "
        "sum(m * f1) / (sum(f1) + (sum(f1) = 0)), sum(f0), sum(f1), sum(f2), sum(f3), "
        "sum(f4), sum(f5), sum(f6), sum(f7), sum(f8), sum(f9) FROM (SELECT source, "
        "period, "
        "any(nt_name) AS n, any(unit) AS u, max(kernel) AS k, max(user_left_out) AS o, "
        "max(asked) AS a, argMax(measured, version) AS m, max(expected) AS f0, "
        "max(taken) AS f1, max(counted) AS f2, max(outside) AS f3, max(lost) AS f4, "
        "max(throttled) AS f5, max(missed) AS f6, max(unfinished) AS f7, "
        "max(excluded) AS f8, max(outside_kernel) AS f9 FROM accounting WHERE ");
    put_window_condition(sql, selection, range);
    put_source_condition(sql, selection);
    buffer_append_text(sql, " GROUP BY host, epoch, start_ns, source, period) GROUP "
                            "BY source, period ORDER BY source != 'time', source, "
                            "period FORMAT RowBinary");
}

void
query_timeline(struct buffer *sql, const struct store_selection *selection,
               const struct query_range *range, const struct store_overview *overview)
{
    buffer_print(sql,
                 "SELECT toUInt64(intDiv(if(start_ns > %" PRId64 ", start_ns, %" PRId64
                 ") - %" PRId64 ", %" PRId64
                 ")) AS slot, period, sum(c) FROM (SELECT start_ns, period, "
                 "max(counted) AS c FROM accounting WHERE ",
                 overview->start_ns, overview->start_ns, overview->start_ns,
                 overview->slot_ns);
    put_window_condition(sql, selection, range);
    put_source_condition(sql,
                         &(struct store_selection){.source = overview->source,
                                                   .interval = selection->interval});
    buffer_append_text(sql, " GROUP BY host, epoch, start_ns, period) GROUP BY slot, "
                            "period ORDER BY period, slot FORMAT RowBinary");
}

/* ---- rows ---- */

#define KEYS "source, period, process, unit, image, bias, address, variant"

/* Each image once. Its rows are of the same file, so their paths and bounds are
 * joined. */
#define IMAGES                                                                        \
    "(SELECT image, bias, min(path) AS path, max(build_id) AS build_id, min(low) AS " \
    "low, max(high) AS high, max(named) AS named FROM images GROUP BY image, bias)"

/* Each place with its best name. */
#define BEST_PLACES                                                                   \
    "SELECT image, bias, address, variant, function, system_name, file, definition, " \
    "start_line, has_address, function_address, line, caller_functions, "             \
    "caller_system_names, caller_files, caller_definitions, caller_start_lines, "     \
    "caller_has_addresses, caller_addresses, caller_lines FROM places"
#define BEST_ORDER                                                              \
    " ORDER BY image, bias, address, variant, quality DESC, has_address DESC, " \
    "function, file, line LIMIT 1 BY image, bias, address, variant"

/* Put the query for hits of selected windows, except those of days in the list folded,
 * whose sums are used instead. */
static void
put_hits(struct buffer *sql, const struct store_selection *selection,
         const struct query_range *range, const char *folded)
{
    buffer_print(sql,
                 "SELECT " KEYS ", max(count) AS c FROM hits WHERE hour >= %" PRIu64
                 " AND hour <= %" PRIu64 " AND ",
                 range->first_hour, range->last_hour);
    put_window_condition(sql, selection, range);
    put_row_conditions(sql, selection);
    if (folded[0] != '\0') {
        buffer_print(sql, " AND day NOT IN (%s)", folded);
    }
    buffer_append_text(sql, " GROUP BY " KEYS ", host, epoch, start_ns");
}

/* Append the query for the sums of the days in the list folded to that for hits. */
static void
put_sums(struct buffer *sql, const struct store_selection *selection,
         const struct query_range *range, const char *folded)
{
    buffer_print(sql,
                 " UNION ALL SELECT " KEYS ", sum(count) AS c FROM sums WHERE day >= "
                 "toDate(%" PRIu64 ") AND day <= toDate(%" PRIu64 ") AND day IN (%s) "
                 "AND source != ''",
                 range->first_day, range->last_day, folded);
    if (selection->host != NULL) {
        buffer_append_text(sql, " AND ");
        sql_put_glob(sql, "host", selection->host);
    }
    put_row_conditions(sql, selection);
    buffer_append_text(sql, " GROUP BY " KEYS);
}

void
query_rows(struct buffer *sql, const struct store_selection *selection,
           const struct query_range *range, const char *folded, uint64_t limit)
{
    buffer_append_text(sql, "SELECT " ROWS_COLUMNS " FROM (SELECT * FROM (SELECT " KEYS
                            ", sum(c) AS hits FROM (");
    put_hits(sql, selection, range, folded);
    if (folded[0] != '\0') {
        put_sums(sql, selection, range, folded);
    }
    buffer_append_text(sql, ") GROUP BY " KEYS);
    if (limit != 0) {
        buffer_print(sql, " LIMIT %" PRIu64, limit);
    }
    buffer_append_text(sql, ") ANY LEFT JOIN " IMAGES
                            " USING (image, bias)) ANY LEFT JOIN (" BEST_PLACES);
    /* Places of other images are not read; the rows themselves were selected above. */
    if (selection->image != NULL || selection->build_id != NULL) {
        buffer_append_text(sql, " WHERE 1");
        put_row_conditions(sql,
                           &(struct store_selection){.image = selection->image,
                                                     .build_id = selection->build_id});
    }
    buffer_append_text(sql, BEST_ORDER
                       ") USING (image, bias, address, variant) FORMAT RowBinary");
}

void
query_places(struct buffer *sql)
{
    buffer_append_text(
        sql,
        "SELECT " ROWS_COLUMNS " FROM (SELECT 'places' AS source, toUInt64(0) AS "
        "period, '' AS process, '' AS unit, toUInt64(1) AS hits, * FROM (" BEST_PLACES
        " WHERE variant = '' AND substring(image, 1, 1) != ' '" BEST_ORDER
        ")) ANY LEFT JOIN " IMAGES " USING (image, bias) FORMAT RowBinary");
}
