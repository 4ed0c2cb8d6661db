/* SPDX-License-Identifier: MIT */
/*
 * add.c - adds a profile to a store as one window.
 *
 * The id that the store gives to a name or place is kept by the index of the entry in
 * the profile.
 *
 * Of a window that is added again the later state stays, whole: the one with more hits
 * taken. Rows of two states are not mixed, because code may have got its name between
 * them, which is part of a row's key in a file without a build-id.
 */
#include "store/sqlite/database.h"
#include "store/sqlite/schema.h"

#include "base/buffer.h"
#include "profile/uses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct adding {
    struct database *store;
    const struct profile *profile;
    bool names_only; /* store_rename: add places with their names, but no window,
                      * sources or hits */
    uint64_t window;
    bool outdated; /* the store has a later state of the window: nothing is added */
    struct profile_uses uses;
    /* ids, by index in the profile; of functions and frames as in uses */
    uint64_t *sources, *images, *functions, *frames, *processes, *units;
};

/* Run a statement with RETURNING id, and return the id of the row that it wrote; 0
 * after a failure. SQLite has written all when it returns the first row, so that the
 * statement need not be run to its end. */
static uint64_t
take_id(struct database *store, sqlite3_stmt *statement)
{
    uint64_t id = 0;

    if (database_step(store, statement)) {
        id = (uint64_t)sqlite3_column_int64(statement, 0);
        sqlite3_reset(statement);
    } else {
        database_fail(store, "a row was not written");
    }
    return id;
}

/* Run a statement for each of count entries, with the parameters that bind sets, and
 * keep the ids that it returns in *ids, for free(). used: which entries are needed;
 * NULL: all. */
static void
add_table(struct adding *adding, uint64_t **ids, const char *sql, const bool *used,
          size_t count,
          void (*bind)(struct adding *adding, sqlite3_stmt *statement, size_t index))
{
    sqlite3_stmt *const statement = database_prepare(adding->store, sql);

    *ids = calloc(count + 1, sizeof(**ids));
    if (*ids == NULL) {
        database_fail(adding->store, "out of memory for the names of a profile");
    }
    for (size_t i = 0; i < count && !adding->store->failed; i++) {
        if (used == NULL || used[i]) {
            bind(adding, statement, i);
            (*ids)[i] = take_id(adding->store, statement);
        }
    }
    sqlite3_finalize(statement);
}

static void
bind_source(struct adding *adding, sqlite3_stmt *statement, size_t index)
{
    const struct profile_source *const source = &adding->profile->sources[index];

    database_bind_text(adding->store, statement, 1, source->name);
    database_bind_text(adding->store, statement, 2, source->nt_name);
    database_bind_text(adding->store, statement, 3, source->unit);
    database_bind(adding->store, statement, 4, source->granted);
    database_bind(adding->store, statement, 5, source->kernel_included);
    database_bind(adding->store, statement, 6, source->user_left_out);
}

static void
bind_image(struct adding *adding, sqlite3_stmt *statement, size_t index)
{
    const struct profile_image *const image = &adding->profile->images[index];
    const char *build_id;
    const char *name;

    store_image_key(image, &build_id, &name);
    database_bind_text(adding->store, statement, 1, build_id);
    database_bind_text(adding->store, statement, 2, name);
    database_bind(adding->store, statement, 3, image->start - image->offset);
    database_bind_text(adding->store, statement, 4, image->path);
    database_bind_text(adding->store, statement, 5, image->build_id);
    database_bind(adding->store, statement, 6, image->start);
    database_bind(adding->store, statement, 7, image->limit);
    database_bind(adding->store, statement, 8, image->named);
}

/* Bind the parameters of a function. index: that of profile_uses, which has each
 * function once for each kind. */
static void
bind_function(struct adding *adding, sqlite3_stmt *statement, size_t index)
{
    const struct profile_function function = profile_uses_function(
        adding->profile, index / FUNCTION_KINDS, (unsigned)(index % FUNCTION_KINDS));

    database_bind_text(adding->store, statement, 1, function.name);
    database_bind_text(adding->store, statement, 2, function.system_name);
    database_bind_text(adding->store, statement, 3, function.file);
    database_bind(adding->store, statement, 4, function.start_line);
    database_bind_text(adding->store, statement, 5, function.definition);
    database_bind(adding->store, statement, 6, function.has_address);
    database_bind(adding->store, statement, 7, function.address);
}

/* Bind the parameters of a frame. Its caller has a smaller index, so the caller's id is
 * known. Frame 0, which stands for none, has no caller. */
static void
bind_frame(struct adding *adding, sqlite3_stmt *statement, size_t index)
{
    const size_t kind = index % FUNCTION_KINDS;
    const struct profile_frame *const frame =
        &adding->profile->frames[index / FUNCTION_KINDS];

    database_bind(adding->store, statement, 1,
                  adding->functions[FUNCTION_KINDS * frame->function + kind]);
    database_bind(adding->store, statement, 2, frame->line);
    database_bind(adding->store, statement, 3,
                  index < FUNCTION_KINDS
                      ? 0
                      : adding->frames[FUNCTION_KINDS * frame->caller + kind]);
}

static void
bind_process(struct adding *adding, sqlite3_stmt *statement, size_t index)
{
    database_bind_text(adding->store, statement, 1, adding->profile->processes[index]);
}

static void
bind_unit(struct adding *adding, sqlite3_stmt *statement, size_t index)
{
    database_bind_text(adding->store, statement, 1, adding->profile->units[index]);
}

/* Add the sources of the profile, and keep their ids. "DO UPDATE SET name = name"
 * changes nothing, but makes INSERT return the id also if the row exists already. */
static void
add_sources(struct adding *adding)
{
    add_table(adding, &adding->sources,
              "INSERT INTO source(name, nt_name, unit, interval, kernel, "
              "user_left_out) VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
              "name = name RETURNING id",
              NULL, adding->profile->source_count, bind_source);
}

/* Add the entries of all tables that rows refer to, and keep their ids. */
static void
add_names(struct adding *adding)
{
    const struct profile *const profile = adding->profile;

    if (!profile_uses_init(&adding->uses, profile)) {
        database_fail(adding->store, "out of memory for the names of a profile");
        return;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        profile_uses_mark(&adding->uses, profile, &profile->rows[i],
                          store_function_kind(profile, &profile->rows[i]));
    }
    if (!adding->names_only) {
        add_sources(adding);
    }
    add_table(adding, &adding->images,
              "INSERT INTO image(key, bias, path, build_id, low, high, named) "
              "VALUES(? || ' ' || ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
              "low = min(low, excluded.low), high = max(high, excluded.high), "
              "named = max(named, excluded.named) RETURNING id",
              NULL, profile->image_count, bind_image);
    add_table(adding, &adding->functions,
              "INSERT INTO function(name, system_name, file, start_line, definition, "
              "has_address, first_byte) VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO "
              "UPDATE SET name = name RETURNING id",
              adding->uses.functions, FUNCTION_KINDS * profile->function_count,
              bind_function);
    add_table(adding, &adding->frames,
              "INSERT INTO frame(function, line, caller) VALUES(?, ?, ?) "
              "ON CONFLICT DO UPDATE SET line = line RETURNING id",
              adding->uses.frames, FUNCTION_KINDS * profile->frame_count, bind_frame);
    add_table(adding, &adding->processes,
              "INSERT INTO process(name) VALUES(?) ON CONFLICT DO UPDATE SET "
              "name = name RETURNING id",
              NULL, profile->process_count, bind_process);
    add_table(adding, &adding->units,
              "INSERT INTO unit(name) VALUES(?) ON CONFLICT DO UPDATE SET name = name "
              "RETURNING id",
              NULL, profile->unit_count, bind_unit);
}

/* ---- the window ---- */

/* Add a host; returns its id, 0 after a failure. */
static uint64_t
add_host(struct database *store, const char *name)
{
    sqlite3_stmt *const statement = database_prepare(
        store, "INSERT INTO host(name) VALUES(?) ON CONFLICT DO UPDATE "
               "SET name = name RETURNING id");
    uint64_t id;

    database_bind_text(store, statement, 1, name);
    id = take_id(store, statement);
    sqlite3_finalize(statement);
    return id;
}

/* Join labels to one text, each between line breaks, so that a search for one with its
 * line breaks finds only that one. Returns false with the error set. */
static bool
join_labels(struct database *store, const struct store_window *window,
            struct buffer *text)
{
    buffer_append_text(text, "\n");
    for (size_t i = 0; i < window->label_count; i++) {
        if (strchr(window->labels[i], '\n') != NULL) {
            return database_fail_for_good(store,
                                          "a label with a line break is not stored");
        }
        buffer_append_text(text, window->labels[i]);
        buffer_append_text(text, "\n");
    }
    return buffer_text(text) != NULL || database_fail(store, "out of memory");
}

/* Add where a window comes from, its boot and labels, to table origin; returns the id,
 * 0 after a failure. */
static uint64_t
add_origin(struct database *store, const struct store_window *window)
{
    sqlite3_stmt *const statement = database_prepare(
        store,
        "INSERT INTO origin(boot, labels) VALUES(?, ?) ON CONFLICT DO UPDATE SET "
        "boot = boot RETURNING id");
    struct buffer labels = {0};
    uint64_t id = 0;

    if (join_labels(store, window, &labels)) {
        database_bind_text(store, statement, 1,
                           window->boot != NULL ? window->boot : "");
        database_bind_text(store, statement, 2, buffer_text(&labels));
        id = take_id(store, statement);
    }
    sqlite3_finalize(statement);
    buffer_finish(&labels);
    return id;
}

/* Have the day of the window folded again (fold.c): the sums of its host lack this
 * window. */
static void
unfold_day(struct adding *adding, uint64_t host)
{
    struct database *const store = adding->store;
    sqlite3_stmt *const statement = database_prepare(
        store, "DELETE FROM folded WHERE host = ?1 AND day = ?2 / " STORE_DAY_NS);

    database_bind(store, statement, 1, host);
    database_bind(store, statement, 2, adding->profile->time_ns);
    database_execute(store, statement);
    sqlite3_finalize(statement);
}

/* Return the taken hits of all sources; each source has STORE_FIGURE_MAX at most. */
static uint64_t
sum_taken(const struct profile *profile)
{
    uint64_t taken = 0;

    for (size_t i = 0; i < profile->source_count; i++) {
        taken += profile->sources[i].taken;
    }
    return taken;
}

/* Find the state of the window that the store has. Returns its id, 0 for none.
 * adding->outdated: it is later than the one to add. */
static uint64_t
find_state(struct adding *adding, uint64_t host, const struct store_window *window)
{
    const struct profile *const profile = adding->profile;
    const uint64_t end_ns = profile->time_ns + profile->duration_ns;
    const uint64_t taken = sum_taken(profile);
    struct database *const store = adding->store;
    sqlite3_stmt *const statement = database_prepare(
        store, "SELECT id, end_ns, coalesce(sum(taken), 0) FROM window LEFT JOIN "
               "accounting ON window = id WHERE host = ? AND epoch = ? AND "
               "start_ns = ? GROUP BY id");
    uint64_t id = 0;

    database_bind(store, statement, 1, host);
    database_bind_text(store, statement, 2, window->epoch);
    database_bind(store, statement, 3, profile->time_ns);
    if (database_step(store, statement)) {
        const uint64_t known_end_ns = (uint64_t)sqlite3_column_int64(statement, 1);
        const uint64_t known_taken = (uint64_t)sqlite3_column_int64(statement, 2);

        id = (uint64_t)sqlite3_column_int64(statement, 0);
        adding->outdated =
            known_taken > taken || (known_taken == taken && known_end_ns > end_ns);
    }
    sqlite3_finalize(statement);
    return id;
}

/* Remove an earlier state of the window. */
static void
remove_state(struct database *store, uint64_t id)
{
    static const char *const removals[] = {"DELETE FROM hits WHERE window = ?",
                                           "DELETE FROM accounting WHERE window = ?",
                                           "DELETE FROM window WHERE id = ?"};

    for (size_t i = 0; i < sizeof(removals) / sizeof(removals[0]); i++) {
        sqlite3_stmt *const statement = database_prepare(store, removals[i]);

        database_bind(store, statement, 1, id);
        database_execute(store, statement);
        sqlite3_finalize(statement);
    }
}

/* Add the window, in the place of an earlier state of it; adding->window is its id. If
 * the store has a later state, nothing is added, and adding->outdated is set. */
static void
add_window(struct adding *adding, const struct store_window *window)
{
    const struct profile *const profile = adding->profile;
    struct database *const store = adding->store;
    const char *const texts[] = {profile->command, profile->hal, profile->limits,
                                 profile->gaps};
    const uint64_t host = add_host(store, window->host);
    const uint64_t known = find_state(adding, host, window);
    sqlite3_stmt *statement;

    if (adding->outdated) {
        return;
    }
    if (known != 0) {
        remove_state(store, known);
    }
    statement = database_prepare(
        store, "INSERT INTO window(host, epoch, start_ns, end_ns, bucket_bytes, "
               "command, backend, limits, gaps, origin) VALUES(?, ?, ?, ?, ?, ?, ?, ?, "
               "?, ?) RETURNING id");
    database_bind(store, statement, 1, host);
    database_bind_text(store, statement, 2, window->epoch);
    database_bind(store, statement, 3, profile->time_ns);
    database_bind(store, statement, 4, profile->time_ns + profile->duration_ns);
    database_bind(store, statement, 5, profile->bucket_bytes);
    for (int i = 0; i < 4; i++) {
        database_bind_text(store, statement, 6 + i, texts[i] != NULL ? texts[i] : "");
    }
    database_bind(store, statement, 10, add_origin(store, window));
    adding->window = take_id(store, statement);
    sqlite3_finalize(statement);
    unfold_day(adding, host);
}

static void
bind_accounting(struct adding *adding, sqlite3_stmt *statement, size_t index)
{
    const struct profile_source *const source = &adding->profile->sources[index];
    uint64_t figures[STORE_FIGURES];

    store_list_figures(source, figures);
    database_bind(adding->store, statement, 1, adding->window);
    database_bind(adding->store, statement, 2, adding->sources[index]);
    database_bind(adding->store, statement, 3, source->asked);
    if (!adding->store->failed) {
        sqlite3_bind_double(statement, 4, source->measured);
    }
    for (int i = 0; i < STORE_FIGURES; i++) {
        database_bind(adding->store, statement, 5 + i, figures[i]);
    }
}

/* Add the figures of each source in the window. */
static void
add_accounting(struct adding *adding)
{
    uint64_t *unused; /* add_table keeps what RETURNING yields */

    add_table(adding, &unused,
              "INSERT INTO accounting VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
              "RETURNING window",
              NULL, adding->profile->source_count, bind_accounting);
    free(unused);
}

/* ---- rows ---- */

/* stored_row - a row with the ids of its keys in the store. Several may have the same
 * keys there: those of different threads, and of copies of one file. */
struct stored_row {
    const struct profile_row *row;
    uint64_t image, process, unit;
    uint64_t function; /* 0 in a file of a known build, where the address is enough */
};

/* Compare rows by what identifies a row of table hits in one window and source. */
static int
compare_keys(const void *left, const void *right)
{
    const struct stored_row *const a = left;
    const struct stored_row *const b = right;
    const uint64_t keys[][2] = {
        {a->image, b->image},       {a->row->address, b->row->address},
        {a->process, b->process},   {a->unit, b->unit},
        {a->function, b->function},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return 0;
}

/* Return the profile's rows, for free(), in an order in which those with the same keys
 * are next to each other; NULL if memory runs out. */
static struct stored_row *
sort_rows(const struct adding *adding)
{
    const struct profile *const profile = adding->profile;
    struct stored_row *const rows = calloc(profile->row_count + 1, sizeof(*rows));

    for (size_t i = 0; rows != NULL && i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];
        const bool is_build =
            store_function_kind(profile, row) == FUNCTION_WITH_ADDRESS;

        rows[i] = (struct stored_row){
            .row = row,
            .image = adding->images[row->image],
            .process = adding->processes[row->process],
            .unit = adding->units[row->unit],
            .function = is_build ? 0
                                 : adding->functions[FUNCTION_KINDS * row->function +
                                                     FUNCTION_WITHOUT_ADDRESS],
        };
    }
    if (rows != NULL) {
        qsort(rows, profile->row_count, sizeof(*rows), compare_keys);
    }
    return rows;
}

/* Add the place of a row, or give a known one better names; returns its id. In a file
 * of a known build an address is one place; elsewhere one for each function. */
static uint64_t
add_place(struct adding *adding, sqlite3_stmt *statement, const struct stored_row *key)
{
    struct database *const store = adding->store;
    const struct profile_row *const row = key->row;
    const size_t kind = store_function_kind(adding->profile, row);

    database_bind(store, statement, 1, key->image);
    database_bind(store, statement, 2, row->address);
    database_bind(store, statement, 3, key->function);
    database_bind(store, statement, 4,
                  adding->functions[FUNCTION_KINDS * row->function + kind]);
    database_bind(store, statement, 5, row->line);
    database_bind(store, statement, 6,
                  adding->frames[FUNCTION_KINDS * row->caller + kind]);
    database_bind(store, statement, 7, store_quality(adding->profile, row));
    database_bind(store, statement, 8, adding->functions[0]); /* ?8 of BETTER */
    return take_id(store, statement);
}

/* Add a row of hits. keys: ids of its process, unit and place. */
static void
add_count(struct adding *adding, sqlite3_stmt *statement, const uint64_t keys[3],
          size_t source, uint64_t count)
{
    struct database *const store = adding->store;

    database_bind(store, statement, 1, adding->window);
    database_bind(store, statement, 2, adding->sources[source]);
    for (int i = 0; i < 3; i++) {
        database_bind(store, statement, 3 + i, keys[i]);
    }
    database_bind(store, statement, 6, count);
    database_execute(store, statement);
}

/* Return the sum of one source's hits in the rows from first to end. */
static uint64_t
sum_hits(const struct stored_row *rows, size_t first, size_t end, size_t source)
{
    uint64_t sum = 0;

    for (size_t i = first; i < end; i++) {
        sum += rows[i].row->hits[source];
    }
    return sum;
}

/* Add hits of the rows from first on that have the same keys, or only their place if
 * names are added. A place without hits is left out. Returns the index behind the last
 * of these rows. */
static size_t
add_group(struct adding *adding, const struct stored_row *rows, size_t first,
          sqlite3_stmt *place, sqlite3_stmt *hits)
{
    const struct profile *const profile = adding->profile;
    uint64_t keys[3] = {rows[first].process, rows[first].unit, 0};
    size_t end = first + 1;

    while (end < profile->row_count && compare_keys(&rows[first], &rows[end]) == 0) {
        end++;
    }
    if (adding->names_only) {
        add_place(adding, place, &rows[first]);
        return end;
    }
    for (size_t k = 0; k < profile->source_count; k++) {
        const uint64_t sum = sum_hits(rows, first, end, k);

        if (sum != 0) {
            keys[2] = keys[2] != 0 ? keys[2] : add_place(adding, place, &rows[first]);
            add_count(adding, hits, keys, k, sum);
        }
    }
    return end;
}

/* When a place gets names: if theirs are of a better quality, or if neither has a name
 * and only the new ones have the function's bounds. ?8: the function that stands for
 * none. */
#define BETTER \
    "(excluded.quality > quality OR (function = ?8 AND excluded.function <> ?8))"

/* Prepare the statement that adds a place, or gives a known one better names, and
 * returns its id. */
static sqlite3_stmt *
prepare_place(struct database *store)
{
    return database_prepare(
        store,
        "INSERT INTO place(image, address, variant, function, line, frame, quality) "
        "VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        "function = CASE WHEN " BETTER " THEN excluded.function ELSE function END, "
        "frame = CASE WHEN " BETTER " THEN excluded.frame ELSE frame END, "
        "line = CASE WHEN " BETTER " THEN excluded.line ELSE line END, "
        "quality = CASE WHEN " BETTER " THEN excluded.quality ELSE quality END "
        "RETURNING id");
}

static void
add_rows(struct adding *adding)
{
    struct database *const store = adding->store;
    struct stored_row *const rows = store->failed ? NULL : sort_rows(adding);
    sqlite3_stmt *const place = prepare_place(store);
    sqlite3_stmt *const hits =
        database_prepare(store, "INSERT INTO hits VALUES(?, ?, ?, ?, ?, ?)");

    if (rows == NULL) {
        database_fail(store, "out of memory for the rows of a profile");
    }
    for (size_t i = 0; !store->failed && i < adding->profile->row_count;) {
        i = add_group(adding, rows, i, place, hits);
    }
    sqlite3_finalize(place);
    sqlite3_finalize(hits);
    free(rows);
}

/* Commit, or roll back after a failure, and free what adding used. */
static void
finish_adding(struct adding *adding)
{
    database_run(adding->store, "COMMIT");
    if (adding->store->failed) {
        sqlite3_exec(adding->store->db, "ROLLBACK", NULL, NULL, NULL);
    }
    profile_uses_finish(&adding->uses);
    free(adding->sources);
    free(adding->images);
    free(adding->functions);
    free(adding->frames);
    free(adding->processes);
    free(adding->units);
}

bool
sqlite_add(struct store *store, const struct profile *profile,
           const struct store_window *window, struct pprof_error *error)
{
    struct database *const database = (struct database *)store;
    struct adding adding = {.store = database, .profile = profile};

    database_start(database, error);
    if (profile->bucket_bytes == 0) {
        return database_fail_for_good(
            database, "a profile of another tool has addresses of one run, which are "
                      "not added up over runs");
    }
    if (!database_run(database, "BEGIN IMMEDIATE")) {
        return false;
    }
    add_window(&adding, window);
    if (!adding.outdated) {
        add_names(&adding);
        add_accounting(&adding);
        add_rows(&adding);
    }
    finish_adding(&adding);
    return !database->failed;
}

bool
sqlite_rename(struct store *store, const struct profile *places,
              struct pprof_error *error)
{
    struct database *const database = (struct database *)store;
    struct adding adding = {.store = database, .profile = places, .names_only = true};

    database_start(database, error);
    if (!database_run(database, "BEGIN IMMEDIATE")) {
        return false;
    }
    add_names(&adding);
    add_rows(&adding);
    finish_adding(&adding);
    return !database->failed;
}
