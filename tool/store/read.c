/* SPDX-License-Identifier: MIT */
/*
 * read.c - reads a selection of a store as one profile.
 *
 * All is read in one transaction. The store may have been written by anybody: ids that
 * lead nowhere yield no rows, numbers are checked against what a profile holds, and a
 * chain of inlined calls ends, as a caller's id must be below its own.
 */
#include "store/database.h"

#include "util/hash_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INLINED_MAX = 1000 };

/* frame_known - a frame of the store that is in the profile already. */
struct frame_known {
    uint64_t id;
    uint32_t index;
};

struct reading {
    struct store *store;
    const struct store_selection *selection;
    struct profile *profile;
    sqlite3_stmt *frame;
    struct frame_known *frames;
    size_t frame_count;
    size_t frame_capacity;
    struct hash_index frame_index;
};

static bool
fail_memory(struct reading *reading)
{
    return store_fail(reading->store, "out of memory for what is selected");
}

/* Bind the texts of a selection, each of which may be NULL. */
static void
bind_selection(struct reading *reading, sqlite3_stmt *statement)
{
    const struct store_selection *const selection = reading->selection;
    const char *const texts[] = {selection->source, selection->image,
                                 selection->build_id};

    for (int i = 0; i < sqlite3_bind_parameter_count(statement); i++) {
        store_bind_text(reading->store, statement, i + 1, texts[i]);
    }
}

/* ---- windows ---- */

static void
choose_windows(struct reading *reading)
{
    const struct store_selection *const selection = reading->selection;
    struct store *const store = reading->store;
    sqlite3_stmt *statement;

    store_run(store, "CREATE TEMP TABLE chosen(id INTEGER PRIMARY KEY)");
    statement = store_prepare(
        store, "INSERT INTO chosen SELECT window.id FROM window JOIN host ON host.id = "
               "window.host WHERE end_ns > ?1 AND (?2 = 0 OR start_ns < ?2) AND (?3 IS "
               "NULL OR host.name GLOB ?3)");
    store_bind(store, statement, 1, (uint64_t)selection->since_ns);
    store_bind(store, statement, 2, (uint64_t)selection->until_ns);
    store_bind_text(store, statement, 3, selection->host);
    while (store_step(store, statement)) {
    }
    sqlite3_finalize(statement);
    if (store_number(store, "SELECT count(*) FROM chosen") == 0 && !store->failed) {
        store_fail(store, "no window is selected; ntprof store stat shows what there "
                          "is");
    }
}

/* Hits of different intervals stand for different times. */
static void
check_intervals(struct reading *reading)
{
    struct store *const store = reading->store;
    sqlite3_stmt *const statement = store_prepare(
        store, "SELECT name, min(interval), max(interval), unit FROM source WHERE (?1 "
               "IS NULL OR name = ?1) AND id IN (SELECT source FROM accounting WHERE "
               "window IN chosen) GROUP BY name HAVING min(interval) <> "
               "max(interval)");
    char why[256];

    bind_selection(reading, statement);
    if (store_step(store, statement)) {
        snprintf(why, sizeof(why),
                 "source %.40s has several intervals in the selection, from %" PRIu64
                 " to %" PRIu64 " (%.10s): such hits do not add up; select windows of "
                 "one by since, until or host, or another source",
                 store_column_text(statement, 0),
                 (uint64_t)sqlite3_column_int64(statement, 1),
                 (uint64_t)sqlite3_column_int64(statement, 2),
                 store_column_text(statement, 3));
        store_fail(store, why);
    }
    sqlite3_finalize(statement);
    if (store_number(store, "SELECT count(DISTINCT bucket_bytes) FROM window WHERE id "
                            "IN chosen") > 1) {
        store_fail(store, "the selection has buckets of several sizes, which do not "
                          "add up");
    }
}

static bool set_text(struct reading *reading, char **text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool
set_text(struct reading *reading, char **text, const char *format, ...)
{
    char made[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(made, sizeof(made), format, arguments);
    va_end(arguments);
    free(*text);
    *text = strdup(made);
    return *text != NULL || fail_memory(reading);
}

static void
read_header(struct reading *reading)
{
    struct store *const store = reading->store;
    struct profile *const profile = reading->profile;
    sqlite3_stmt *const statement = store_prepare(
        store,
        "SELECT count(*), count(DISTINCT host), min(start_ns), sum(end_ns - start_ns), "
        "max(bucket_bytes), group_concat(DISTINCT backend), "
        "group_concat(DISTINCT nullif(limits, '')), "
        "group_concat(DISTINCT nullif(gaps, '')) FROM window WHERE id IN "
        "chosen");

    if (store_step(store, statement)) {
        const uint64_t windows = (uint64_t)sqlite3_column_int64(statement, 0);
        const uint64_t hosts = (uint64_t)sqlite3_column_int64(statement, 1);
        const int64_t bucket = sqlite3_column_int64(statement, 4);

        profile->time_ns = (uint64_t)sqlite3_column_int64(statement, 2);
        profile->duration_ns = (uint64_t)sqlite3_column_int64(statement, 3);
        profile->bucket_bytes =
            bucket > 0 && bucket <= UINT32_MAX ? (uint32_t)bucket : 1;
        set_text(reading, &profile->command,
                 "%" PRIu64 " window%s of %" PRIu64 " host%s", windows,
                 windows == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s");
        set_text(reading, &profile->hal, "%s", store_column_text(statement, 5));
        set_text(reading, &profile->limits, "%s", store_column_text(statement, 6));
        set_text(reading, &profile->gaps, "%s", store_column_text(statement, 7));
    }
    sqlite3_finalize(statement);
}

static void
read_source(struct reading *reading, sqlite3_stmt *row)
{
    struct profile_source source = {
        .name = store_column_text(row, 0),
        .nt_name = store_column_text(row, 1),
        .unit = store_column_text(row, 2),
        .granted = (uint64_t)sqlite3_column_int64(row, 3),
        .kernel_included = sqlite3_column_int64(row, 4) != 0,
        .user_left_out = sqlite3_column_int64(row, 5) != 0,
        .asked = (uint64_t)sqlite3_column_int64(row, 6),
        .measured = sqlite3_column_double(row, 7),
    };
    uint64_t *const figures[] = {
        &source.expected, &source.taken,      &source.counted,
        &source.outside,  &source.lost,       &source.throttled,
        &source.missed,   &source.unfinished, &source.excluded,
    };
    uint32_t index;

    for (int i = 0; i < (int)(sizeof(figures) / sizeof(figures[0])); i++) {
        *figures[i] = (uint64_t)sqlite3_column_int64(row, 8 + i);
    }
    if (!profile_add_source(reading->profile, &source, &index)) {
        fail_memory(reading);
    }
}

static void
read_sources(struct reading *reading)
{
    struct store *const store = reading->store;
    sqlite3_stmt *const statement = store_prepare(
        store,
        "SELECT name, max(nt_name), max(unit), max(interval), max(kernel), "
        "max(user_left_out), max(asked), sum(measured * taken) / max(sum(taken), 1), "
        "sum(expected), sum(taken), "
        "sum(counted), sum(outside), sum(lost), sum(throttled), sum(missed), "
        "sum(unfinished), sum(excluded) FROM accounting JOIN source ON source.id = "
        "accounting.source WHERE window IN chosen AND (?1 IS NULL OR name = ?1) GROUP "
        "BY name ORDER BY min(source.id)");

    bind_selection(reading, statement);
    while (store_step(store, statement)) {
        read_source(reading, statement);
    }
    sqlite3_finalize(statement);
    if (!store->failed && reading->profile->source_count == 0) {
        store_fail(store, "the selected windows do not have this source");
    }
}

/* ---- inlined calls ---- */

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
    if (reading->frame_count == reading->frame_capacity) {
        const size_t capacity = reading->frame_capacity * 2 + 64;
        struct frame_known *const frames =
            realloc(reading->frames, capacity * sizeof(*frames));

        if (frames == NULL) {
            return fail_memory(reading);
        }
        reading->frames = frames;
        reading->frame_capacity = capacity;
    }
    reading->frames[reading->frame_count].id = id;
    reading->frames[reading->frame_count].index = index;
    return hash_index_add(&reading->frame_index, hash_mix(0, id),
                          (uint32_t)reading->frame_count++) ||
           fail_memory(reading);
}

static bool
add_function(struct reading *reading, sqlite3_stmt *row, int column, uint32_t *index)
{
    const int64_t line = sqlite3_column_int64(row, column + 3);
    const struct profile_function function = {
        .name = store_column_text(row, column),
        .system_name = store_column_text(row, column + 1),
        .file = store_column_text(row, column + 2),
        .start_line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0,
    };

    if (function.name[0] == '\0' && function.system_name[0] == '\0') {
        *index = 0;
        return true;
    }
    return profile_add_function(reading->profile, &function, index) ||
           fail_memory(reading);
}

static uint32_t
to_line(int64_t number)
{
    return number > 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* Add one frame whose caller is in the profile. Returns its index; 0 for none. */
static uint32_t
add_frame(struct reading *reading, uint64_t id, uint32_t caller)
{
    struct profile_frame frame = {.caller = caller};
    uint32_t index = 0;

    store_bind(reading->store, reading->frame, 1, id);
    if (!store_step(reading->store, reading->frame)) {
        return 0;
    }
    frame.line = to_line(sqlite3_column_int64(reading->frame, 5));
    if (add_function(reading, reading->frame, 0, &frame.function) &&
        frame.function != 0 && !profile_add_frame(reading->profile, &frame, &index)) {
        fail_memory(reading);
    }
    sqlite3_reset(reading->frame);
    remember_frame(reading, id, index);
    return index;
}

/* Return the id of a frame's caller; 0 for none. */
static uint64_t
caller_of(struct reading *reading, uint64_t id)
{
    uint64_t caller = 0;

    store_bind(reading->store, reading->frame, 1, id);
    if (store_step(reading->store, reading->frame)) {
        caller = (uint64_t)sqlite3_column_int64(reading->frame, 4);
        sqlite3_reset(reading->frame);
    }
    return caller < id ? caller : 0;
}

/* Add a frame with all its callers. Returns its index; 0 for none. */
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
            store_fail(reading->store, "is damaged: inlined calls are nested too deep");
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
    ROW_HITS,
    ROW_ADDRESS,
    ROW_LINE,
    ROW_FRAME,
    ROW_PROCESS,
    ROW_PATH,
    ROW_BUILD_ID,
    ROW_LOW,
    ROW_HIGH,
    ROW_BIAS,
    ROW_NAMED,
    ROW_VARIANT,
    ROW_FUNCTION
};

#define ROWS                                                                           \
    "SELECT source.name, sum(count), address, line, frame, process.name, path, "       \
    "build_id, low, high, bias, named, variant, function.name, system_name, file, "    \
    "start_line FROM chosen CROSS JOIN hits ON hits.window = chosen.id JOIN source "   \
    "ON source.id = hits.source JOIN place ON place.id = hits.place JOIN image ON "    \
    "image.id = place.image JOIN function ON function.id = place.function JOIN "       \
    "process ON process.id = hits.process WHERE (?1 IS NULL OR source.name = ?1) AND " \
    "(?2 IS NULL OR path GLOB ?2) AND (?3 IS NULL OR substr(build_id, 1, "             \
    "length(?3)) = ?3) GROUP BY source.name, hits.process, hits.place"

static bool
add_image(struct reading *reading, sqlite3_stmt *row, uint32_t *index)
{
    const uint64_t start = (uint64_t)sqlite3_column_int64(row, ROW_LOW);
    const struct profile_image image = {
        .path = store_column_text(row, ROW_PATH),
        .build_id = store_column_text(row, ROW_BUILD_ID),
        .start = start,
        .limit = (uint64_t)sqlite3_column_int64(row, ROW_HIGH),
        .offset = start - (uint64_t)sqlite3_column_int64(row, ROW_BIAS),
        .named = sqlite3_column_int64(row, ROW_NAMED) != 0,
    };

    return profile_add_image(reading->profile, &image, index) || fail_memory(reading);
}

static size_t
find_source(const struct profile *profile, const char *name)
{
    size_t i = 0;

    while (i < profile->source_count && strcmp(profile->sources[i].name, name) != 0) {
        i++;
    }
    return i;
}

static void
read_row(struct reading *reading, sqlite3_stmt *row)
{
    struct profile *const profile = reading->profile;
    const size_t source = find_source(profile, store_column_text(row, ROW_SOURCE));
    const int64_t hits = sqlite3_column_int64(row, ROW_HITS);
    struct profile_place place = {
        .address = (uint64_t)sqlite3_column_int64(row, ROW_ADDRESS),
        .line = to_line(sqlite3_column_int64(row, ROW_LINE)),
    };
    struct profile_row *made;

    if (source == profile->source_count || hits <= 0) {
        store_fail(reading->store, "is damaged: hits without a source, or below one");
        return;
    }
    if (!add_image(reading, row, &place.image) ||
        !add_function(reading, row, ROW_FUNCTION, &place.function)) {
        return;
    }
    if (!profile_add_process(profile, store_column_text(row, ROW_PROCESS),
                             &place.process)) {
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
    } else if (__builtin_add_overflow(made->hits[source], (uint64_t)hits,
                                      &made->hits[source])) {
        store_fail(reading->store, "a sum of hits exceeds 64 bits");
    }
}

static void
read_rows(struct reading *reading)
{
    sqlite3_stmt *const statement = store_prepare(reading->store, ROWS);

    reading->frame = store_prepare(
        reading->store, "SELECT name, system_name, file, start_line, caller, line FROM "
                        "frame JOIN function ON function.id = frame.function WHERE "
                        "frame.id = ?");
    bind_selection(reading, statement);
    while (store_step(reading->store, statement)) {
        read_row(reading, statement);
    }
    sqlite3_finalize(statement);
    sqlite3_finalize(reading->frame);
}

struct profile *
store_read(struct store *store, const struct store_selection *selection,
           struct pprof_error *error)
{
    struct reading reading = {.store = store, .selection = selection};

    store_start(store, error);
    reading.profile = profile_new();
    if (reading.profile == NULL) {
        fail_memory(&reading);
        return NULL;
    }
    if (store_run(store, "BEGIN")) {
        choose_windows(&reading);
        check_intervals(&reading);
        read_header(&reading);
        read_sources(&reading);
        read_rows(&reading);
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    }
    free(reading.frames);
    hash_index_finish(&reading.frame_index);
    if (store->failed) {
        profile_delete(reading.profile);
        return NULL;
    }
    profile_sort(reading.profile);
    return reading.profile;
}
