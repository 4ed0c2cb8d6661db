/* SPDX-License-Identifier: MIT */
/*
 * add.c - adds a profile to a store as one window.
 *
 * Each table of names is written first; what a name, place or window is called in the
 * store (its id) is kept by its index in the profile. Every figure only grows: of two
 * values for the same key the larger one stays.
 */
#include "store/database.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct adding {
    struct store *store;
    const struct profile *profile;
    uint64_t window;
    /* ids, by index in the profile */
    uint64_t *sources, *images, *functions, *frames, *processes;
};

/* Whether the same address of the image is the same code in each run. */
static bool
is_build(const struct profile_image *image)
{
    return image->build_id[0] != '\0' && image->path[0] != '\0' &&
           image->path[0] != '[';
}

/* Return the id of the row that a statement with RETURNING wrote. */
static uint64_t
take_id(struct store *store, sqlite3_stmt *statement)
{
    uint64_t id = 0;

    if (store_step(store, statement)) {
        id = (uint64_t)sqlite3_column_int64(statement, 0);
        sqlite3_reset(statement);
    } else {
        store_fail(store, "a row was not written");
    }
    return id;
}

/* Run a statement for each of count entries and keep the id of each in *ids. */
static void
add_table(struct adding *adding, uint64_t **ids, const char *sql, size_t count,
          void (*bind)(struct adding *adding, sqlite3_stmt *statement, size_t index))
{
    sqlite3_stmt *const statement = store_prepare(adding->store, sql);

    *ids = calloc(count + 1, sizeof(**ids));
    if (*ids == NULL) {
        store_fail(adding->store, "out of memory for the names of a profile");
    }
    for (size_t i = 0; i < count && !adding->store->failed; i++) {
        bind(adding, statement, i);
        (*ids)[i] = take_id(adding->store, statement);
    }
    sqlite3_finalize(statement);
}

static void
bind_source(struct adding *adding, sqlite3_stmt *statement, size_t index)
{
    const struct profile_source *const source = &adding->profile->sources[index];

    store_bind_text(adding->store, statement, 1, source->name);
    store_bind_text(adding->store, statement, 2, source->nt_name);
    store_bind_text(adding->store, statement, 3, source->unit);
    store_bind(adding->store, statement, 4, source->granted);
    store_bind(adding->store, statement, 5, source->kernel_included);
    store_bind(adding->store, statement, 6, source->user_left_out);
}

static void
bind_image(struct adding *adding, sqlite3_stmt *statement, size_t index)
{
    const struct profile_image *const image = &adding->profile->images[index];
    const char *const slash = strrchr(image->path, '/');
    const char *const base = slash != NULL ? slash + 1 : image->path;
    const bool build = is_build(image);

    store_bind_text(adding->store, statement, 1, build ? image->build_id : "");
    store_bind_text(adding->store, statement, 2, build ? base : image->path);
    store_bind(adding->store, statement, 3, image->start - image->offset);
    store_bind_text(adding->store, statement, 4, image->path);
    store_bind_text(adding->store, statement, 5, image->build_id);
    store_bind(adding->store, statement, 6, image->start);
    store_bind(adding->store, statement, 7, image->limit);
    store_bind(adding->store, statement, 8, image->named);
}

static void
bind_function(struct adding *adding, sqlite3_stmt *statement, size_t index)
{
    const struct profile_function *const function = &adding->profile->functions[index];

    store_bind_text(adding->store, statement, 1, function->name);
    store_bind_text(adding->store, statement, 2, function->system_name);
    store_bind_text(adding->store, statement, 3, function->file);
    store_bind(adding->store, statement, 4, function->start_line);
}

/* A frame's caller stands before it, so its id is known. */
static void
bind_frame(struct adding *adding, sqlite3_stmt *statement, size_t index)
{
    const struct profile_frame *const frame = &adding->profile->frames[index];

    store_bind(adding->store, statement, 1, adding->functions[frame->function]);
    store_bind(adding->store, statement, 2, frame->line);
    store_bind(adding->store, statement, 3,
               index == 0 ? 0 : adding->frames[frame->caller]);
}

static void
bind_process(struct adding *adding, sqlite3_stmt *statement, size_t index)
{
    store_bind_text(adding->store, statement, 1, adding->profile->processes[index]);
}

/* Writing a row again must return its id, hence the updates that change nothing. */
static void
add_names(struct adding *adding)
{
    const struct profile *const profile = adding->profile;

    add_table(adding, &adding->sources,
              "INSERT INTO source(name, nt_name, unit, interval, kernel, "
              "user_left_out) VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
              "name = name RETURNING id",
              profile->source_count, bind_source);
    add_table(adding, &adding->images,
              "INSERT INTO image(key, bias, path, build_id, low, high, named) "
              "VALUES(? || ' ' || ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
              "low = min(low, excluded.low), high = max(high, excluded.high), "
              "named = max(named, excluded.named) RETURNING id",
              profile->image_count, bind_image);
    add_table(adding, &adding->functions,
              "INSERT INTO function(name, system_name, file, start_line) "
              "VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET name = name RETURNING id",
              profile->function_count, bind_function);
    add_table(adding, &adding->frames,
              "INSERT INTO frame(function, line, caller) VALUES(?, ?, ?) "
              "ON CONFLICT DO UPDATE SET line = line RETURNING id",
              profile->frame_count, bind_frame);
    add_table(adding, &adding->processes,
              "INSERT INTO process(name) VALUES(?) ON CONFLICT DO UPDATE SET "
              "name = name RETURNING id",
              profile->process_count, bind_process);
}

/* ---- the window ---- */

static uint64_t
add_host(struct store *store, const char *name)
{
    sqlite3_stmt *const statement =
        store_prepare(store, "INSERT INTO host(name) VALUES(?) ON CONFLICT DO UPDATE "
                             "SET name = name RETURNING id");
    uint64_t id;

    store_bind_text(store, statement, 1, name);
    id = take_id(store, statement);
    sqlite3_finalize(statement);
    return id;
}

static void
add_window(struct adding *adding, const struct store_window *window)
{
    const struct profile *const profile = adding->profile;
    struct store *const store = adding->store;
    const char *const texts[] = {profile->command, profile->hal, profile->limits,
                                 profile->gaps};
    const uint64_t host = add_host(store, window->host);
    sqlite3_stmt *const statement = store_prepare(
        store, "INSERT INTO window(host, epoch, start_ns, end_ns, bucket_bytes, "
               "command, backend, limits, gaps) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) ON "
               "CONFLICT DO UPDATE SET end_ns = max(end_ns, excluded.end_ns) "
               "RETURNING id");

    store_bind(store, statement, 1, host);
    store_bind_text(store, statement, 2, window->epoch);
    store_bind(store, statement, 3, profile->time_ns);
    store_bind(store, statement, 4, profile->time_ns + profile->duration_ns);
    store_bind(store, statement, 5, profile->bucket_bytes);
    for (int i = 0; i < 4; i++) {
        store_bind_text(store, statement, 6 + i, texts[i] != NULL ? texts[i] : "");
    }
    adding->window = take_id(store, statement);
    sqlite3_finalize(statement);
}

static void
bind_accounting(struct adding *adding, sqlite3_stmt *statement, size_t index)
{
    const struct profile_source *const source = &adding->profile->sources[index];
    const uint64_t figures[] = {
        source->expected, source->taken,      source->counted,
        source->outside,  source->lost,       source->throttled,
        source->missed,   source->unfinished, source->excluded,
    };

    store_bind(adding->store, statement, 1, adding->window);
    store_bind(adding->store, statement, 2, adding->sources[index]);
    store_bind(adding->store, statement, 3, source->asked);
    if (!adding->store->failed) {
        sqlite3_bind_double(statement, 4, source->measured);
    }
    for (int i = 0; i < (int)(sizeof(figures) / sizeof(figures[0])); i++) {
        store_bind(adding->store, statement, 5 + i, figures[i]);
    }
}

static void
add_accounting(struct adding *adding)
{
    uint64_t *unused;

    add_table(adding, &unused,
              "INSERT INTO accounting VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON "
              "CONFLICT DO UPDATE SET measured = excluded.measured, "
              "expected = max(expected, excluded.expected), "
              "taken = max(taken, excluded.taken), "
              "counted = max(counted, excluded.counted), "
              "outside = max(outside, excluded.outside), "
              "lost = max(lost, excluded.lost), "
              "throttled = max(throttled, excluded.throttled), "
              "missed = max(missed, excluded.missed), "
              "unfinished = max(unfinished, excluded.unfinished), "
              "excluded = max(accounting.excluded, excluded.excluded) "
              "RETURNING window",
              adding->profile->source_count, bind_accounting);
    free(unused);
}

/* ---- rows ---- */

/* Rows with the same key in the store, as those of several threads, are next to each
 * other in this order. */
static int
compare_keys(const void *left, const void *right)
{
    const struct profile_row *const a = *(const struct profile_row *const *)left;
    const struct profile_row *const b = *(const struct profile_row *const *)right;
    const uint64_t keys[][2] = {
        {a->image, b->image},
        {a->address, b->address},
        {a->process, b->process},
        {a->function, b->function},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return 0;
}

static const struct profile_row **
sort_rows(const struct profile *profile)
{
    const struct profile_row **const rows =
        calloc(profile->row_count + 1, sizeof(*rows));

    for (size_t i = 0; rows != NULL && i < profile->row_count; i++) {
        rows[i] = &profile->rows[i];
    }
    if (rows != NULL) {
        qsort(rows, profile->row_count, sizeof(*rows), compare_keys);
    }
    return rows;
}

/* In a file of a known build an address has one place; elsewhere one for each
 * function. */
static uint64_t
add_place(struct adding *adding, sqlite3_stmt *statement, const struct profile_row *row)
{
    struct store *const store = adding->store;
    const uint64_t function = adding->functions[row->function];

    store_bind(store, statement, 1, adding->images[row->image]);
    store_bind(store, statement, 2, row->address);
    store_bind(store, statement, 3,
               is_build(&adding->profile->images[row->image]) ? 0 : function);
    store_bind(store, statement, 4, function);
    store_bind(store, statement, 5, row->line);
    store_bind(store, statement, 6, adding->frames[row->caller]);
    return take_id(store, statement);
}

static void
add_count(struct adding *adding, sqlite3_stmt *statement, const uint64_t keys[2],
          size_t source, uint64_t count)
{
    struct store *const store = adding->store;

    if (count > INT64_MAX) {
        store_fail(store, "a count above 2^63 is not stored");
    }
    store_bind(store, statement, 1, adding->window);
    store_bind(store, statement, 2, adding->sources[source]);
    store_bind(store, statement, 3, keys[0]);
    store_bind(store, statement, 4, keys[1]);
    store_bind(store, statement, 5, count);
    while (store_step(store, statement)) {
    }
}

/* Add the rows from first to behind the last with the same key. Returns its index. */
static size_t
add_group(struct adding *adding, const struct profile_row **rows, size_t first,
          sqlite3_stmt *place, sqlite3_stmt *hits)
{
    const struct profile *const profile = adding->profile;
    const uint64_t keys[2] = {adding->processes[rows[first]->process],
                              add_place(adding, place, rows[first])};
    size_t end = first + 1;

    while (end < profile->row_count && compare_keys(&rows[first], &rows[end]) == 0) {
        end++;
    }
    for (size_t k = 0; k < profile->source_count; k++) {
        uint64_t sum = 0;

        for (size_t i = first; i < end; i++) {
            if (__builtin_add_overflow(sum, rows[i]->hits[k], &sum)) {
                store_fail(adding->store, "a sum exceeds 64 bits");
            }
        }
        if (sum != 0) {
            add_count(adding, hits, keys, k, sum);
        }
    }
    return end;
}

static void
add_rows(struct adding *adding)
{
    struct store *const store = adding->store;
    const struct profile_row **const rows = sort_rows(adding->profile);
    sqlite3_stmt *const place = store_prepare(
        store, "INSERT INTO place(image, address, variant, function, line, frame) "
               "VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET function = "
               "CASE WHEN line = 0 AND excluded.line <> 0 THEN excluded.function ELSE "
               "function END, frame = CASE WHEN line = 0 AND excluded.line <> 0 THEN "
               "excluded.frame ELSE frame END, line = CASE WHEN line = 0 THEN "
               "excluded.line ELSE line END RETURNING id");
    sqlite3_stmt *const hits =
        store_prepare(store, "INSERT INTO hits VALUES(?, ?, ?, ?, ?) ON CONFLICT DO "
                             "UPDATE SET count = max(count, excluded.count)");

    if (rows == NULL) {
        store_fail(store, "out of memory for the rows of a profile");
    }
    for (size_t i = 0; !store->failed && i < adding->profile->row_count;) {
        i = add_group(adding, rows, i, place, hits);
    }
    sqlite3_finalize(place);
    sqlite3_finalize(hits);
    free(rows);
}

bool
store_add(struct store *store, const struct profile *profile,
          const struct store_window *window, struct pprof_error *error)
{
    struct adding adding = {.store = store, .profile = profile};

    store_start(store, error);
    if (profile->bucket_bytes == 0) {
        return store_fail(store, "a profile of another tool has addresses of one run, "
                                 "which are not added up over runs");
    }
    store_run(store, "BEGIN IMMEDIATE");
    if (store->failed) {
        return false;
    }
    add_names(&adding);
    add_window(&adding, window);
    add_accounting(&adding);
    add_rows(&adding);
    store_run(store, "COMMIT");
    if (store->failed) {
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    }
    free(adding.sources);
    free(adding.images);
    free(adding.functions);
    free(adding.frames);
    free(adding.processes);
    return !store->failed;
}
