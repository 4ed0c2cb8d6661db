/* SPDX-License-Identifier: MIT */
/*
 * read.c - reads a selection of a server's store as one profile.
 *
 * There are no transactions: what is added meanwhile may be in the rows and not yet in
 * the statistics, or the other way round. The selected windows' ends are known first,
 * so a selection of past time is not affected.
 */
#include "store/clickhouse/query.h"
#include "store/clickhouse/rows.h"
#include "store/clickhouse/schema.h"
#include "store/clickhouse/server.h"
#include "store/coverage.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

enum { HOUR_S = 3600, DAY_S = 86400 };

struct reading {
    struct server *server;
    const struct store_selection *selection;
    struct profile *profile;
    struct query_range range;
    struct buffer sql;
    struct buffer text; /* of the row that is being read */
    struct coverage coverage;
    struct buffer folded; /* list of days whose sums are used */
};

/* Run the query in reading->sql, and clear that text for the next one. Returns false if
 * it failed; *rows is then a reader that has failed. */
static bool
ask(struct reading *reading, struct row_binary_reader *rows)
{
    const char *const sql = buffer_text(&reading->sql);
    const bool done = sql != NULL ? server_read(reading->server, sql, rows)
                                  : server_fail_memory(reading->server);

    reading->sql.size = 0;
    if (!done) {
        *rows = (struct row_binary_reader){.failed = true};
    }
    return done;
}

static bool set_text(struct reading *reading, char **text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Set a text of the profile, cut to 1023 bytes. Returns false with the error set if
 * memory runs out. */
static bool
set_text(struct reading *reading, char **text, const char *format, ...)
{
    char made[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(made, sizeof(made), format, arguments);
    va_end(arguments);
    free(*text);
    *text = strdup(made);
    return *text != NULL || server_fail_memory(reading->server);
}

/* ---- windows ---- */

/* Set back end, limits and gaps from the rest of the header's row. The limits begin
 * with how many windows there are, as the command does. Texts are cut for the
 * screen. */
static void
read_texts(struct reading *reading, struct row_binary_reader *rows)
{
    struct profile *const profile = reading->profile;
    const char *text = row_binary_get_text(rows, &reading->text);

    set_text(reading, &profile->hal, "%.200s", text);
    text = row_binary_get_text(rows, &reading->text);
    set_text(reading, &profile->limits, "%s%s%.900s", profile->command,
             text[0] != '\0' ? "; " : "", text);
    text = row_binary_get_text(rows, &reading->text);
    set_text(reading, &profile->gaps, "%.900s", text);
}

/* Set the profile's time, the days and hours of the windows, and the time that they
 * should cover. first_ns, last_ns: starts of the first and last window; end_ns: end of
 * the last one. */
static void
set_times(struct reading *reading, uint64_t first_ns, uint64_t last_ns, uint64_t end_ns)
{
    const struct store_selection *const selection = reading->selection;

    reading->profile->time_ns = first_ns;
    reading->range = (struct query_range){
        .first_day = first_ns / SECOND_NS / DAY_S,
        .last_day = last_ns / SECOND_NS / DAY_S,
        .first_hour = first_ns / SECOND_NS / HOUR_S,
        .last_hour = last_ns / SECOND_NS / HOUR_S,
    };
    reading->coverage.start_ns =
        selection->since_ns != 0 ? selection->since_ns : (int64_t)first_ns;
    reading->coverage.end_ns =
        selection->until_ns != 0 && selection->until_ns < (int64_t)end_ns
            ? selection->until_ns
            : (int64_t)end_ns;
}

/* Read what the selected windows have in common into the profile: times, sizes of
 * buckets, back ends, limits and gaps. Fails if no window is selected. */
static void
read_header(struct reading *reading)
{
    enum { WINDOWS, HOSTS, FIRST, LAST, END, LENGTH, BUCKET_MIN, BUCKET_MAX, NUMBERS };
    struct profile *const profile = reading->profile;
    struct row_binary_reader rows;
    uint64_t numbers[NUMBERS];

    query_header(&reading->sql, reading->selection);
    ask(reading, &rows);
    for (int i = 0; i < NUMBERS; i++) {
        numbers[i] = row_binary_get(&rows, sizeof(uint64_t));
    }
    if (!rows.failed && numbers[WINDOWS] == 0) {
        reading->server->error->no_window = true;
        server_fail(reading->server, STORE_NO_WINDOW);
    }
    set_times(reading, numbers[FIRST], numbers[LAST], numbers[END]);
    profile->duration_ns = numbers[LENGTH];
    profile->bucket_bytes =
        numbers[BUCKET_MAX] <= UINT32_MAX ? (uint32_t)numbers[BUCKET_MAX] : 1;
    profile->bucket_least =
        numbers[BUCKET_MIN] < numbers[BUCKET_MAX] ? (uint32_t)numbers[BUCKET_MIN] : 0;
    set_text(reading, &profile->command, "%" PRIu64 " window%s of %" PRIu64 " host%s",
             numbers[WINDOWS], numbers[WINDOWS] == 1 ? "" : "s", numbers[HOSTS],
             numbers[HOSTS] == 1 ? "" : "s");
    read_texts(reading, &rows);
    server_end(reading->server, &rows);
}

/* Put a description of the times without windows before the profile's gaps. With labels
 * only selected hosts are examined: not all hosts need have these labels. */
static void
read_gaps(struct reading *reading)
{
    struct coverage *const coverage = &reading->coverage;
    struct row_binary_reader rows;
    struct buffer text = {0};
    char **const gaps = &reading->profile->gaps;

    query_coverage(&reading->sql, reading->selection, coverage->start_ns,
                   coverage->end_ns);
    ask(reading, &rows);
    while (row_binary_more(&rows)) {
        const char *const host = row_binary_get_text(&rows, &reading->text);
        const uint64_t windows = row_binary_get(&rows, sizeof(windows));

        /* 0, which no server answers, would stand for a host without windows. */
        coverage_add(coverage, host, windows != 0 ? windows : 1,
                     (int64_t)row_binary_get(&rows, sizeof(uint64_t)));
    }
    server_end(reading->server, &rows);
    if (reading->selection->label_count == 0) {
        query_other_hosts(&reading->sql, reading->selection);
        ask(reading, &rows);
        while (row_binary_more(&rows)) {
            coverage_add(coverage, row_binary_get_text(&rows, &reading->text), 0, 0);
        }
        server_end(reading->server, &rows);
    }
    coverage_put(coverage, &text);
    if (text.size > 0 && *gaps != NULL && (*gaps)[0] != '\0') {
        buffer_append_text(&text, "; ");
        buffer_append_text(&text, *gaps);
    }
    if (text.size > 0 && buffer_text(&text) != NULL) {
        set_text(reading, gaps, "%s", buffer_text(&text));
    }
    buffer_finish(&text);
}

/* ---- sources ---- */

/* Read one source from a row of query_sources, and add it to the profile. Returns false
 * with the error set, or after bytes that make no sense. */
static bool
read_source(struct reading *reading, struct row_binary_reader *rows)
{
    struct profile *const profile = reading->profile;
    struct profile_source source = {0};
    const char **const texts[] = {&source.name, &source.nt_name, &source.unit};
    uint64_t figures[STORE_FIGURES];
    uint32_t index;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        *texts[i] = profile_string(profile, row_binary_get_text(rows, &reading->text));
        if (*texts[i] == NULL) {
            return server_fail_memory(reading->server);
        }
    }
    source.granted = row_binary_get(rows, 8);
    source.kernel_included = row_binary_get(rows, 1) != 0;
    source.user_left_out = row_binary_get(rows, 1) != 0;
    source.asked = row_binary_get(rows, 8);
    source.measured = row_binary_get_double(rows);
    for (size_t i = 0; i < STORE_FIGURES; i++) {
        figures[i] = row_binary_get(rows, 8);
    }
    if (!rows->failed && !store_set_figures(&source, figures)) {
        return server_fail(reading->server, STORE_CONTRADICTION);
    }
    return !rows->failed && (profile_add_source(profile, &source, &index) ||
                             server_fail_memory(reading->server));
}

static void
read_sources(struct reading *reading)
{
    struct row_binary_reader rows;

    query_sources(&reading->sql, reading->selection, &reading->range);
    ask(reading, &rows);
    while (row_binary_more(&rows) && read_source(reading, &rows)) {
    }
    if (server_end(reading->server, &rows) && reading->profile->source_count == 0) {
        server_fail(reading->server,
                    "the selected windows do not have this source and interval");
    }
}

/* ---- rows ---- */

/* List the days whose sums can be used in reading->folded: days that lie wholly within
 * the selected time, and have the windows that they were folded with. Sums have
 * no labels, so with labels there are none. */
static void
list_folded(struct reading *reading)
{
    const struct store_selection *const selection = reading->selection;
    struct row_binary_reader rows;

    if (selection->label_count > 0) {
        return;
    }
    buffer_append_text(
        &reading->sql,
        "SELECT toUInt64(toUInt16(day)) FROM (" FOLDED_DAYS
        ") ANY LEFT JOIN (SELECT toDate(intDiv(start_ns, 86400000000000)) "
        "AS day, " WINDOWS_HASH " AS a FROM windows WHERE 1");
    /* Windows of other days need no hash. */
    if (selection->since_ns != 0) {
        buffer_print(&reading->sql, " AND start_ns >= %" PRId64, selection->since_ns);
    }
    if (selection->until_ns != 0) {
        buffer_print(&reading->sql, " AND start_ns < %" PRId64, selection->until_ns);
    }
    buffer_append_text(&reading->sql, " GROUP BY day) USING (day) WHERE a = f");
    if (selection->since_ns != 0) {
        buffer_print(&reading->sql,
                     " AND toUInt64(toUInt16(day)) * 86400000000000 >= %" PRId64,
                     selection->since_ns);
    }
    if (selection->until_ns != 0) {
        buffer_print(&reading->sql,
                     " AND (toUInt64(toUInt16(day)) + 1) * 86400000000000 <= %" PRId64,
                     selection->until_ns);
    }
    buffer_append_text(&reading->sql, " ORDER BY day FORMAT RowBinary");
    ask(reading, &rows);
    while (row_binary_more(&rows)) {
        buffer_print(&reading->folded, "%stoDate(%" PRIu64 ")",
                     reading->folded.size > 0 ? ", " : "",
                     row_binary_get(&rows, sizeof(uint64_t)));
    }
    server_end(reading->server, &rows);
}

/* Return the limit of the query for rows, 0 for none: one row more than rows_take
 * accepts, so that rows_take fails if there are more. */
static uint64_t
answer_limit(const struct reading *reading)
{
    const size_t rows_max = reading->selection->rows_max;

    return rows_max != 0 ? rows_answer_max(reading->profile, rows_max) + 1 : 0;
}

/* Run the query for rows in reading->sql, and add them to the profile. */
static void
read_rows(struct reading *reading)
{
    struct row_binary_reader rows;
    const char *why;

    if (!ask(reading, &rows)) {
        return;
    }
    why = rows_take(reading->profile, reading->selection->rows_max, &rows);
    if (why != NULL) {
        server_fail(reading->server, why);
    }
    server_end(reading->server, &rows);
}

/* Free what reading used. Returns the profile; NULL after a failure. */
static struct profile *
finish_reading(struct reading *reading)
{
    buffer_finish(&reading->sql);
    buffer_finish(&reading->text);
    buffer_finish(&reading->folded);
    coverage_finish(&reading->coverage);
    /* An answer may be large, so it is not kept until the next request. */
    buffer_finish(&reading->server->answer);
    if (reading->server->failed) {
        profile_delete(reading->profile);
        return NULL;
    }
    profile_sort(reading->profile);
    return reading->profile;
}

struct profile *
clickhouse_read(struct store *store, const struct store_selection *selection,
                struct pprof_error *error)
{
    struct server *const server = (struct server *)store;
    struct reading reading = {
        .server = server, .selection = selection, .profile = profile_new()};
    const char *folded;

    server_start(server, error);
    server->answer_bytes_max = SERVER_ROWS_BYTES_MAX;
    if (reading.profile == NULL) {
        server_fail_memory(server);
    } else {
        read_header(&reading);
        read_gaps(&reading);
        read_sources(&reading);
        list_folded(&reading);
        folded = buffer_text(&reading.folded);
        query_rows(&reading.sql, selection, &reading.range,
                   folded != NULL ? folded : "", answer_limit(&reading));
        read_rows(&reading);
    }
    return finish_reading(&reading);
}

struct profile *
clickhouse_places(struct store *store, struct pprof_error *error)
{
    static const struct profile_source source = {.name = "places"};
    static const struct store_selection all = {0};
    struct server *const server = (struct server *)store;
    struct reading reading = {
        .server = server, .selection = &all, .profile = profile_new()};
    uint64_t bytes;
    uint32_t index;

    server_start(server, error);
    server->answer_bytes_max = SERVER_ROWS_BYTES_MAX;
    bytes = server_number(
        server, "SELECT toUInt64(min(bucket_bytes)) FROM windows FORMAT RowBinary");
    if (reading.profile == NULL ||
        !profile_add_source(reading.profile, &source, &index)) {
        server_fail_memory(server);
    } else {
        reading.profile->bucket_bytes =
            bytes > 0 && bytes <= UINT32_MAX ? (uint32_t)bytes : 1;
        query_places(&reading.sql);
        read_rows(&reading);
    }
    return finish_reading(&reading);
}
