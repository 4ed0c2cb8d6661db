/* SPDX-License-Identifier: MIT */
/*
 * query.h - the conditions and queries of a selection. docs/store.md shows one.
 *
 * Each query yields one row for each of its keys whatever was sent how often: of equal
 * keys it takes the largest count (max), then sums. Subqueries after IN are GLOBAL: of
 * a cluster they see all shards, and elsewhere that changes nothing.
 */
#ifndef STORE_CLICKHOUSE_QUERY_H
#define STORE_CLICKHOUSE_QUERY_H

#include "store/overview.h"

#include "base/buffer.h"

/* query_range - first and last day and hour, counted from 1970, of the starts of the
 * selected windows. */
struct query_range {
    uint64_t first_day;
    uint64_t last_day;
    uint64_t first_hour;
    uint64_t last_hour;
};

/* query_windows - append the condition of table windows for the selected windows. */
void query_windows(struct buffer *sql, const struct store_selection *selection);

/* query_header - append: windows, hosts, first and last start, last end, sum of
 * lengths, smallest and largest bucket, back ends, limits, gaps. */
void query_header(struct buffer *sql, const struct store_selection *selection);

/* query_coverage - append, of windows of agents: host, number of its windows,
 * nanoseconds between start_ns and end_ns that they cover. */
void query_coverage(struct buffer *sql, const struct store_selection *selection,
                    int64_t start_ns, int64_t end_ns);

/* query_other_hosts - append: hosts with windows of agents, none of them selected. */
void query_other_hosts(struct buffer *sql, const struct store_selection *selection);

/* query_sources - append: name, NT name, unit, interval, whether the kernel is included
 * and user mode left out, interval asked for and measured, STORE_FIGURES figures. */
void query_sources(struct buffer *sql, const struct store_selection *selection,
                   const struct query_range *range);

/* query_timeline - append: slot, interval and hits of overview->source in windows that
 * start in the slot; the shortest interval first. */
void query_timeline(struct buffer *sql, const struct store_selection *selection,
                    const struct query_range *range,
                    const struct store_overview *overview);

/* query_rows - append: ROWS_COLUMNS of rows.h.
 *
 *   folded  in: an SQL list of days whose sums are read instead of hits; "" for none
 *   limit   in: most rows of the answer; 0: any number
 */
void query_rows(struct buffer *sql, const struct store_selection *selection,
                const struct query_range *range, const char *folded, uint64_t limit);

/* query_places - append the columns of query_rows, once for each place in a file of a
 * known build. */
void query_places(struct buffer *sql);

#endif
