/* SPDX-License-Identifier: MIT */
/*
 * read.c - reads a selection of a store as one profile.
 *
 * All is read in one transaction. The store may have been written by anybody: ids that
 * lead nowhere yield no rows, numbers are checked against what a profile holds, and a
 * chain of inlined calls ends, as a caller's id must be below its own.
 */
#include "store/coverage.h"
#include "store/sqlite/database.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/windows.h"

#include "base/array.h"
#include "base/hash_index.h"
#include "profile/image_join.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INLINED_MAX = 1000 };

/* frame_known - a frame of the store that is in the profile already: its id there, its
 * index here. */
struct frame_known {
    uint64_t id;
    uint32_t index;
};

struct reading {
    struct database *store;
    const struct store_selection *selection;
    struct profile *profile;
    struct image_join images;
    sqlite3_stmt *frame;
    struct frame_known *frames;
    size_t frame_count;
    size_t frame_capacity;
    struct hash_index frame_index;
};

static bool
fail_memory(struct reading *reading)
{
    return database_fail(reading->store, "out of memory for what is selected");
}

/* Bind the parameters of a selection of rows: ?1 source, ?2 image, ?3 build-id, ?4
 * unit, each of which may be NULL, and ?5 the interval. */
static void
bind_selection(struct reading *reading, sqlite3_stmt *statement)
{
    const struct store_selection *const selection = reading->selection;
    const char *const texts[] = {selection->source, selection->image,
                                 selection->build_id, selection->unit};

    if (sqlite3_bind_parameter_count(statement) == 0) {
        return; /* the statement of place_rows */
    }
    for (int i = 0; i < 4; i++) {
        database_bind_text(reading->store, statement, i + 1, texts[i]);
    }
    database_bind(reading->store, statement, 5, selection->interval);
}

/* ---- windows ---- */

/* List the selected windows in the temporary table chosen, from which all other queries
 * get them. Fails if there is none. */
static void
choose_windows(struct reading *reading)
{
    struct database *const store = reading->store;
    struct buffer sql = {0};
    sqlite3_stmt *statement;

    buffer_append_text(
        &sql, "INSERT INTO chosen SELECT window.id, window.host, start_ns, end_ns, "
              "epoch NOT GLOB '" STORE_EPOCH_FILE "*' FROM " WINDOWS_TABLES " WHERE ");
    windows_put_condition(&sql, reading->selection);
    database_run(store, "CREATE TEMP TABLE chosen(id INTEGER PRIMARY KEY, host INTEGER "
                        "NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, "
                        "agent INTEGER NOT NULL)");
    statement = database_prepare(store, buffer_text(&sql));
    windows_bind(store, statement, reading->selection);
    database_execute(store, statement);
    sqlite3_finalize(statement);
    buffer_finish(&sql);
    if (database_number(store, "SELECT count(*) FROM chosen") == 0 && !store->failed) {
        store->error->no_window = true;
        database_fail(store, STORE_NO_WINDOW);
    }
}

/* Make two temporary tables: summed has the days and hosts whose sums are read, as all
 * their windows are selected and folded (fold.c); unsummed has the windows of all
 * others, whose hits are read. */
static void
choose_sums(struct reading *reading)
{
    database_run(
        reading->store,
        "CREATE TEMP TABLE summed(day INTEGER NOT NULL, host INTEGER NOT NULL, PRIMARY "
        "KEY(day, host)) WITHOUT ROWID;"
        "INSERT INTO summed SELECT day, host FROM (SELECT " STORE_DAY
        " AS d, host AS h, count(*) AS number FROM chosen GROUP BY d, h) JOIN folded "
        "ON day = d AND host = h WHERE windows = number;"
        "CREATE TEMP TABLE unsummed(id INTEGER PRIMARY KEY);"
        "INSERT INTO unsummed SELECT id FROM chosen WHERE (" STORE_DAY
        ", host) NOT IN summed");
}

/* The query that adds up the statistics of the windows by source. Column measured is
 * weighted with taken, by whose sum read_sources divides it. */
#define SUM_ACCOUNTING(outside_kernel)                                             \
    "CREATE TEMP TABLE account AS SELECT source, max(asked) AS asked, "            \
    "sum(measured * taken) AS measured, sum(expected) AS expected, sum(taken) AS " \
    "taken, sum(counted) AS counted, sum(outside) AS outside, sum(lost) AS lost, " \
    "sum(throttled) AS throttled, sum(missed) AS missed, sum(unfinished) AS "      \
    "unfinished, sum(excluded) AS excluded, " outside_kernel " AS outside_kernel " \
    "FROM chosen CROSS JOIN accounting ON accounting.window = chosen.id GROUP BY " \
    "source"

/* Add up the figures of the selected windows in the temporary table account. */
static void
sum_accounting(struct reading *reading)
{
    database_run(reading->store, reading->store->version == STORE_VERSION_READ
                                     ? SUM_ACCOUNTING("0")
                                     : SUM_ACCOUNTING("sum(outside_kernel)"));
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
    return *text != NULL || fail_memory(reading);
}

/* A column with up to 20 of the different texts that a column of windows has: those of
 * a day of many hosts could exceed the longest text that SQLite makes. */
#define FIRST_TEXTS(column)                                                        \
    ", (SELECT group_concat(t) FROM (SELECT DISTINCT " #column " AS t FROM texts " \
    "WHERE " #column " <> '' LIMIT 20))"

/* Return a bucket size that was read; 1 if it cannot be one. */
static uint32_t
to_bucket(int64_t bytes)
{
    return bytes > 0 && bytes <= UINT32_MAX ? (uint32_t)bytes : 1;
}

/* Read what the selected windows have in common into the profile: times, sizes of
 * buckets, back ends, limits and gaps. The limits begin with how many windows there
 * are, as the command does. */
static void
read_header(struct reading *reading)
{
    struct database *const store = reading->store;
    struct profile *const profile = reading->profile;
    sqlite3_stmt *statement;

    database_run(store, "CREATE TEMP TABLE texts AS SELECT DISTINCT backend, limits, "
                        "gaps, bucket_bytes FROM chosen CROSS JOIN window ON window.id "
                        "= chosen.id");
    statement = database_prepare(
        store,
        "SELECT count(*), count(DISTINCT host), min(start_ns), sum(end_ns - start_ns), "
        "(SELECT max(bucket_bytes) FROM texts)" FIRST_TEXTS(backend) FIRST_TEXTS(limits)
            FIRST_TEXTS(gaps) ", (SELECT min(bucket_bytes) FROM texts) FROM chosen");
    if (database_step(store, statement)) {
        const uint64_t windows = (uint64_t)sqlite3_column_int64(statement, 0);
        const uint64_t hosts = (uint64_t)sqlite3_column_int64(statement, 1);
        const uint32_t widest = to_bucket(sqlite3_column_int64(statement, 4));
        const uint32_t narrowest = to_bucket(sqlite3_column_int64(statement, 8));
        const char *const limits = database_column_text(statement, 6);

        profile->time_ns = (uint64_t)sqlite3_column_int64(statement, 2);
        profile->duration_ns = (uint64_t)sqlite3_column_int64(statement, 3);
        profile->bucket_bytes = widest;
        profile->bucket_least = narrowest != widest ? narrowest : 0;
        set_text(reading, &profile->command,
                 "%" PRIu64 " window%s of %" PRIu64 " host%s", windows,
                 windows == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s");
        set_text(reading, &profile->hal, "%s", database_column_text(statement, 5));
        set_text(reading, &profile->limits, "%s%s%s", profile->command,
                 limits[0] != '\0' ? "; " : "", limits);
        set_text(reading, &profile->gaps, "%s", database_column_text(statement, 7));
    }
    sqlite3_finalize(statement);
}

/* ---- missing windows ---- */

/* Find the time that windows should cover: what is selected, or else from the start of
 * the first selected window on; it ends with the last one at the latest. */
static void
find_times(struct reading *reading, struct coverage *coverage)
{
    const struct store_selection *const selection = reading->selection;
    struct database *const store = reading->store;
    const int64_t end_ns =
        (int64_t)database_number(store, "SELECT max(end_ns) FROM chosen");

    coverage->start_ns =
        selection->since_ns != 0
            ? selection->since_ns
            : (int64_t)database_number(store, "SELECT min(start_ns) FROM chosen");
    coverage->end_ns = selection->until_ns != 0 && selection->until_ns < end_ns
                           ? selection->until_ns
                           : end_ns;
}

/* Add the hosts whose windows are selected to the coverage, and how much of the time
 * these cover. */
static void
cover_selected(struct reading *reading, struct coverage *coverage)
{
    struct database *const store = reading->store;
    sqlite3_stmt *const statement = database_prepare(
        store, "SELECT name, windows, covered FROM (SELECT host AS h, count(*) AS "
               "windows, sum(min(end_ns, ?2) - max(start_ns, ?1)) AS covered FROM "
               "chosen WHERE agent GROUP BY h) JOIN host ON host.id = h ORDER BY name");

    database_bind(store, statement, 1, (uint64_t)coverage->start_ns);
    database_bind(store, statement, 2, (uint64_t)coverage->end_ns);
    while (database_step(store, statement)) {
        coverage_add(coverage, database_column_text(statement, 0),
                     (uint64_t)sqlite3_column_int64(statement, 1),
                     sqlite3_column_int64(statement, 2));
    }
    sqlite3_finalize(statement);
}

/* Add the hosts to the coverage that have windows of agents, none of which is
 * selected. */
static void
cover_others(struct reading *reading, struct coverage *coverage)
{
    struct database *const store = reading->store;
    sqlite3_stmt *const statement = database_prepare(
        store, "SELECT name FROM host WHERE (?1 IS NULL OR name GLOB ?1) AND id NOT IN "
               "(SELECT host FROM chosen) AND EXISTS (SELECT 1 FROM "
               "window WHERE window.host = host.id AND epoch NOT GLOB "
               "'" STORE_EPOCH_FILE "*') ORDER BY name");

    database_bind_text(store, statement, 1, reading->selection->host);
    while (database_step(store, statement)) {
        coverage_add(coverage, database_column_text(statement, 0), 0, 0);
    }
    sqlite3_finalize(statement);
}

/* Put a description of the times without windows before the profile's gaps. With labels
 * only selected hosts are examined: not all hosts need have these labels. */
static void
read_gaps(struct reading *reading)
{
    char **const gaps = &reading->profile->gaps;
    struct coverage coverage = {0};
    struct buffer text = {0};

    find_times(reading, &coverage);
    cover_selected(reading, &coverage);
    if (reading->selection->label_count == 0) {
        cover_others(reading, &coverage);
    }
    coverage_put(&coverage, &text);
    if (text.size > 0 && *gaps != NULL && (*gaps)[0] != '\0') {
        buffer_append_text(&text, "; ");
        buffer_append_text(&text, *gaps);
    }
    if (buffer_text(&text) == NULL) {
        fail_memory(reading);
    } else if (text.size > 0) {
        set_text(reading, gaps, "%s", buffer_text(&text));
    }
    coverage_finish(&coverage);
    buffer_finish(&text);
}

/* Add a source of the profile from a row of read_sources. */
static void
read_source(struct reading *reading, sqlite3_stmt *row)
{
    struct profile_source source = {
        .name = database_column_text(row, 0),
        .nt_name = database_column_text(row, 1),
        .unit = database_column_text(row, 2),
        .granted = (uint64_t)sqlite3_column_int64(row, 3),
        .kernel_included = sqlite3_column_int64(row, 4) != 0,
        .user_left_out = sqlite3_column_int64(row, 5) != 0,
        .asked = (uint64_t)sqlite3_column_int64(row, 6),
        .measured = sqlite3_column_double(row, 7),
    };
    uint64_t figures[STORE_FIGURES];
    uint32_t index;

    for (int i = 0; i < STORE_FIGURES; i++) {
        figures[i] = (uint64_t)sqlite3_column_int64(row, 8 + i);
    }
    if (!store_set_figures(&source, figures)) {
        database_fail(reading->store, STORE_CONTRADICTION);
    } else if (!profile_add_source(reading->profile, &source, &index)) {
        fail_memory(reading);
    }
}

static void
read_sources(struct reading *reading)
{
    struct database *const store = reading->store;
    sqlite3_stmt *const statement = database_prepare(
        store,
        "SELECT name, max(nt_name), max(unit), interval, min(kernel), "
        "min(user_left_out), max(asked), sum(measured) / max(sum(taken), 1), "
        "sum(expected), sum(taken), sum(counted), sum(outside), sum(lost), "
        "sum(throttled), sum(missed), sum(unfinished), sum(excluded), "
        "sum(outside_kernel) FROM account JOIN source ON source.id = account.source "
        "WHERE (?1 IS NULL OR name = ?1) AND (?5 = 0 OR interval = ?5) GROUP BY name, "
        "interval ORDER BY min(source.id)");

    bind_selection(reading, statement);
    while (database_step(store, statement)) {
        read_source(reading, statement);
    }
    sqlite3_finalize(statement);
    if (!store->failed && reading->profile->source_count == 0) {
        database_fail(store,
                      "the selected windows do not have this source and interval");
    }
}

/* ---- inlined calls ---- */

/* Return the index in the profile of the frame with an id of the store; HASH_INDEX_NONE
 * if it was not read yet. */
static uint32_t
find_frame(const struct reading *reading, uint64_t id)
{
    size_t probe = 0;
    uint32_t entry;

    while ((entry = hash_index_find(&reading->frame_index, hash_mix(0, id), &probe)) !=
           HASH_INDEX_NONE) {
        if (reading->frames[entry].id == id) {
            return reading->frames[entry].index;
        }
    }
    return HASH_INDEX_NONE;
}

static bool
remember_frame(struct reading *reading, uint64_t id, uint32_t index)
{
    struct frame_known *const frames =
        array_grow(reading->frames, reading->frame_count, &reading->frame_capacity,
                   sizeof(*frames));

    if (frames == NULL) {
        return fail_memory(reading);
    }
    reading->frames = frames;
    reading->frames[reading->frame_count].id = id;
    reading->frames[reading->frame_count].index = index;
    return hash_index_add(&reading->frame_index, hash_mix(0, id),
                          (uint32_t)reading->frame_count++) ||
           fail_memory(reading);
}

/* Return a line number that was read; 0, which stands for none, if it cannot be one. */
static uint32_t
to_line(int64_t number)
{
    return number > 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* Columns of a function, as add_function reads them. */
static const char *
function_columns(const struct database *store)
{
    return store->version == STORE_VERSION_READ
               ? "function.name, system_name, file, start_line, '', 0, 0"
               : "function.name, system_name, file, start_line, definition, "
                 "has_address, first_byte";
}

enum { FUNCTION_COLUMNS = 7 };

/* Add the function whose columns begin at column; *index is 0 if it has neither a name
 * nor bounds. Returns false with the error set. */
static bool
add_function(struct reading *reading, sqlite3_stmt *row, int column, uint32_t *index)
{
    const struct profile_function function = {
        .name = database_column_text(row, column),
        .system_name = database_column_text(row, column + 1),
        .file = database_column_text(row, column + 2),
        .start_line = to_line(sqlite3_column_int64(row, column + 3)),
        .definition = database_column_text(row, column + 4),
        .has_address = sqlite3_column_int64(row, column + 5) != 0,
        .address = (uint64_t)sqlite3_column_int64(row, column + 6),
    };

    if (function.name[0] == '\0' && function.system_name[0] == '\0' &&
        !function.has_address) {
        *index = 0;
        return true;
    }
    return profile_add_function(reading->profile, &function, index) ||
           fail_memory(reading);
}

/* Read one frame and add it to the profile; caller: the index of its caller, which is
 * there already. Returns its index; 0 if the store has no such frame or function. */
static uint32_t
add_frame(struct reading *reading, uint64_t id, uint32_t caller)
{
    struct profile_frame frame = {.caller = caller};
    uint32_t index = 0;

    database_bind(reading->store, reading->frame, 1, id);
    if (!database_step(reading->store, reading->frame)) {
        return 0;
    }
    frame.line = to_line(sqlite3_column_int64(reading->frame, FUNCTION_COLUMNS + 1));
    if (add_function(reading, reading->frame, 0, &frame.function) &&
        frame.function != 0 && !profile_add_frame(reading->profile, &frame, &index)) {
        fail_memory(reading);
    }
    sqlite3_reset(reading->frame);
    remember_frame(reading, id, index);
    return index;
}

/* Return the id of a frame's caller; 0 for none. A damaged store may name any frame:
 * only an id below the frame's own is followed, so that chains end. */
static uint64_t
caller_of(struct reading *reading, uint64_t id)
{
    uint64_t caller = 0;

    database_bind(reading->store, reading->frame, 1, id);
    if (database_step(reading->store, reading->frame)) {
        caller = (uint64_t)sqlite3_column_int64(reading->frame, FUNCTION_COLUMNS);
        sqlite3_reset(reading->frame);
    }
    return caller < id ? caller : 0;
}

/* Add a frame with all its callers, the outermost first. Returns its index; 0 if there
 * is none or after a failure. */
static uint32_t
read_frame(struct reading *reading, uint64_t id)
{
    uint64_t chain[INLINED_MAX];
    size_t count = 0;
    uint32_t index = 0;

    for (uint64_t next = id; next != 0 && !reading->store->failed;
         next = caller_of(reading, next)) {
        const uint32_t known = find_frame(reading, next);

        if (known != HASH_INDEX_NONE) {
            index = known;
            break;
        }
        if (count == INLINED_MAX) {
            database_fail(reading->store,
                          "is damaged: inlined calls are nested too deep");
            return 0;
        }
        chain[count++] = next;
    }
    while (count > 0 && !reading->store->failed) {
        index = add_frame(reading, chain[--count], index);
    }
    return index;
}

/* ---- rows ---- */

/* Columns of the query for rows. */
enum {
    ROW_SOURCE,
    ROW_INTERVAL,
    ROW_HITS,
    ROW_ADDRESS,
    ROW_LINE,
    ROW_FRAME,
    ROW_PROCESS,
    ROW_UNIT,
    ROW_PATH,
    ROW_BUILD_ID,
    ROW_LOW,
    ROW_HIGH,
    ROW_BIAS,
    ROW_NAMED,
    ROW_VARIANT,
    ROW_FUNCTION
};

/* rows_query - a query for rows: columns, then those of function_columns, then rest. */
struct rows_query {
    const char *columns; /* SELECT and the columns in front of the function's */
    const char *rest;    /* FROM and so on */
};

#define ROW_COLUMNS                                                             \
    "SELECT source.name, interval, total, address, line, frame, process.name, " \
    "unit.name, "                                                               \
    "path, build_id, low, high, bias, named, variant, "

/* The query without its columns. hits: the table of counts, or a join with it. Hits are
 * added up by ids first, so that names are joined to fewer rows. */
#define ROWS(hits)                                                                     \
    " FROM (SELECT source AS s, process AS p, unit AS u, place AS l, "                 \
    "sum(count) AS total FROM " hits " WHERE "                                         \
    "source IN (SELECT id FROM source WHERE (?1 IS NULL OR name = ?1) AND (?5 = 0 OR " \
    "interval = ?5)) AND unit IN (SELECT id FROM unit WHERE ?4 IS NULL OR name GLOB "  \
    "?4) AND ((?2 IS NULL AND ?3 IS NULL) OR place IN (SELECT place.id FROM place "    \
    "JOIN image ON image.id = place.image WHERE (?2 IS NULL OR path GLOB ?2) AND (?3 " \
    "IS NULL OR substr(build_id, 1, length(?3)) = ?3))) GROUP BY s, p, u, l) JOIN "    \
    "source ON source.id = s JOIN place ON place.id = l JOIN image ON image.id = "     \
    "place.image JOIN function ON function.id = place.function JOIN process ON "       \
    "process.id = p JOIN unit ON unit.id = u"

static const struct rows_query window_rows = {
    ROW_COLUMNS, ROWS("unsummed CROSS JOIN hits ON hits.window = unsummed.id")};
static const struct rows_query sum_rows = {
    ROW_COLUMNS, ROWS("summed CROSS JOIN sums ON sums.day = summed.day AND sums.host "
                      "= summed.host")};

/* The columns of ROW_COLUMNS, once for each place in a file of a known build. */
static const struct rows_query place_rows = {
    "SELECT 'places', 0, 1, address, line, frame, '', '', path, build_id, low, high, "
    "bias, named, 0, ",
    " FROM place JOIN image ON image.id = place.image JOIN function ON function.id = "
    "place.function WHERE variant = 0"};

/* Return the statement of a query, for sqlite3_finalize; NULL after a failure. */
static sqlite3_stmt *
prepare_rows(struct reading *reading, const struct rows_query *query)
{
    struct buffer sql = {0};
    sqlite3_stmt *statement;

    buffer_append_text(&sql, query->columns);
    buffer_append_text(&sql, function_columns(reading->store));
    buffer_append_text(&sql, query->rest);
    statement = database_prepare(reading->store, buffer_text(&sql));
    buffer_finish(&sql);
    return statement;
}

/* Add the image of a row to the profile; images of one build become one. */
static bool
add_image(struct reading *reading, sqlite3_stmt *row, uint32_t *index)
{
    const uint64_t start = (uint64_t)sqlite3_column_int64(row, ROW_LOW);
    const struct profile_image image = {
        .path = database_column_text(row, ROW_PATH),
        .build_id = database_column_text(row, ROW_BUILD_ID),
        .start = start,
        .limit = (uint64_t)sqlite3_column_int64(row, ROW_HIGH),
        .offset = start - (uint64_t)sqlite3_column_int64(row, ROW_BIAS),
        .named = sqlite3_column_int64(row, ROW_NAMED) != 0,
    };

    uint64_t shift;

    return image_join_add(&reading->images, reading->profile, &image, index, &shift) ||
           fail_memory(reading);
}

/* Add one row of a query to the profile. */
static void
read_row(struct reading *reading, sqlite3_stmt *row)
{
    struct profile *const profile = reading->profile;
    const struct profile_source *const source =
        store_find_source(profile, database_column_text(row, ROW_SOURCE),
                          (uint64_t)sqlite3_column_int64(row, ROW_INTERVAL));
    const int64_t hits = sqlite3_column_int64(row, ROW_HITS);
    struct profile_place place = {
        .address = (uint64_t)sqlite3_column_int64(row, ROW_ADDRESS),
        .line = to_line(sqlite3_column_int64(row, ROW_LINE)),
    };
    struct profile_row *made;

    if (source == NULL || hits <= 0) {
        database_fail(reading->store,
                      "is damaged: hits without a source, or below one");
        return;
    }
    if (!add_image(reading, row, &place.image) ||
        !add_function(reading, row, ROW_FUNCTION, &place.function)) {
        return;
    }
    if (!profile_add_process(profile, database_column_text(row, ROW_PROCESS),
                             &place.process) ||
        !profile_add_unit(profile, database_column_text(row, ROW_UNIT), &place.unit)) {
        fail_memory(reading);
        return;
    }
    if (place.function == 0) {
        place.line = 0;
    } else {
        place.caller =
            read_frame(reading, (uint64_t)sqlite3_column_int64(row, ROW_FRAME));
    }
    made = profile_row_at(profile, &place, sqlite3_column_int64(row, ROW_VARIANT) != 0);
    if (made == NULL) {
        fail_memory(reading);
    } else if (__builtin_add_overflow(made->hits[source - profile->sources],
                                      (uint64_t)hits,
                                      &made->hits[source - profile->sources])) {
        database_fail(reading->store, "a sum of hits exceeds 64 bits");
    }
}

/* Add all rows of a query to the profile. */
static void
read_rows(struct reading *reading, const struct rows_query *query)
{
    static const struct rows_query frame = {
        "SELECT ",
        ", caller, line FROM frame JOIN function ON function.id = frame.function WHERE "
        "frame.id = ?"};
    const size_t rows_max = reading->selection->rows_max;
    sqlite3_stmt *const statement = prepare_rows(reading, query);

    reading->frame = prepare_rows(reading, &frame);
    bind_selection(reading, statement);
    while (database_step(reading->store, statement)) {
        read_row(reading, statement);
        if (rows_max != 0 && reading->profile->row_count > rows_max) {
            database_fail(reading->store, STORE_TOO_MANY_ROWS);
        }
    }
    sqlite3_finalize(statement);
    sqlite3_finalize(reading->frame);
}

/* Set the bucket size of the profile that place_rows are read into, and add its only
 * source. */
static void
read_bucket(struct reading *reading)
{
    const struct profile_source source = {.name = "places"};
    const uint64_t bytes =
        database_number(reading->store, "SELECT min(bucket_bytes) FROM window");
    uint32_t index;

    reading->profile->bucket_bytes =
        bytes > 0 && bytes <= UINT32_MAX ? (uint32_t)bytes : 1;
    if (!profile_add_source(reading->profile, &source, &index)) {
        fail_memory(reading);
    }
}

/* End the transaction, and free what reading used; after a failure the profile, too. */
static void
finish_reading(struct reading *reading)
{
    struct database *const store = reading->store;

    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    free(reading->frames);
    image_join_finish(&reading->images);
    hash_index_finish(&reading->frame_index);
    if (store->failed) {
        profile_delete(reading->profile);
        reading->profile = NULL;
    } else {
        profile_sort(reading->profile);
    }
}

struct profile *
sqlite_read(struct store *store, const struct store_selection *selection,
            struct pprof_error *error)
{
    struct database *const database = (struct database *)store;
    struct reading reading = {.store = database, .selection = selection};

    database_start(database, error);
    reading.profile = profile_new();
    if (reading.profile == NULL) {
        fail_memory(&reading);
    } else if (database_run(database, "BEGIN")) {
        choose_windows(&reading);
        sum_accounting(&reading);
        read_header(&reading);
        read_gaps(&reading);
        read_sources(&reading);
        choose_sums(&reading);
        read_rows(&reading, &window_rows);
        read_rows(&reading, &sum_rows);
    }
    finish_reading(&reading);
    return reading.profile;
}

struct profile *
sqlite_places(struct store *store, struct pprof_error *error)
{
    static const struct store_selection all = {0};
    struct database *const database = (struct database *)store;
    struct reading reading = {.store = database, .selection = &all};

    database_start(database, error);
    reading.profile = profile_new();
    if (reading.profile == NULL) {
        fail_memory(&reading);
    } else if (database_run(database, "BEGIN")) {
        read_bucket(&reading);
        read_rows(&reading, &place_rows);
    }
    finish_reading(&reading);
    return reading.profile;
}
