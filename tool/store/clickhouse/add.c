/* SPDX-License-Identifier: MIT */
/*
 * add.c - sends a profile to a server as one window.
 *
 * Names go first, then hits and statistics, and the window itself last: readers leave
 * out what belongs to no window, so one that was sent in part is not there. Each
 * row says what was counted in the window so far, and of rows with equal keys the
 * largest counts; so sending a part or all of it again changes nothing.
 */
#include "store/clickhouse/server.h"

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/string_set.h"
#include "profile/uses.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_NS UINT64_C(3600000000000)

/* SENT_MAX: most hashes in server->sent, which has twice as many slots. */
enum { DAY_HOURS = 24, SENT_MAX = 1 << 18 };

struct adding {
    struct server *server;
    const struct profile *profile;
    const struct store_window *window;
    struct buffer rows; /* of the table that is being sent */
    struct string_set image_keys, variants;
    uint32_t *images;     /* by index in the profile: number of its key and bias */
    uint64_t *new_hashes; /* of rows of names that are being sent */
    size_t new_count;
};

/* sent_row - a row with the numbers of its keys. */
struct sent_row {
    const struct profile_row *row;
    uint32_t image, variant;
};

/* ---- keys ---- */

/* Return the column variant: what distinguishes places of one address. In a file of a
 * known build that is nothing; elsewhere their function. */
static const char *
variant_of(const struct profile *profile, const struct profile_row *row)
{
    const struct profile_function *const function = &profile->functions[row->function];

    if (store_function_kind(profile, row) == FUNCTION_WITH_ADDRESS) {
        return "";
    }
    return function->system_name[0] != '\0' ? function->system_name : function->name;
}

/* Make the key of each image, with its bias in front, and number the different ones in
 * adding->images. Returns false with the server's error set if memory runs out. */
static bool
number_keys(struct adding *adding)
{
    const struct profile *const profile = adding->profile;
    struct buffer key = {0};
    bool done;

    adding->images = calloc(profile->image_count + 1, sizeof(uint32_t));
    done = adding->images != NULL;
    for (size_t i = 0; done && i < profile->image_count; i++) {
        const struct profile_image *const image = &profile->images[i];
        const char *build_id;
        const char *name;

        store_image_key(image, &build_id, &name);
        key.size = 0;
        buffer_print(&key, "%016" PRIx64 "%s %s", image->start - image->offset,
                     build_id, name);
        adding->images[i] = key.failed ? HASH_INDEX_NONE
                                       : string_set_add(&adding->image_keys,
                                                        (char *)key.data, key.size);
        done = adding->images[i] != HASH_INDEX_NONE;
    }
    buffer_finish(&key);
    return done || server_fail_memory(adding->server);
}

/* Return the column image of an image: the text that identifies it. image_keys has it
 * behind the bias in 16 hexadecimal digits. */
static const char *
image_key(const struct adding *adding, uint32_t image)
{
    return adding->image_keys.texts[adding->images[image]] + 2 * sizeof(uint64_t);
}

/* Return the column bias: what addresses of the image have more than offsets in its
 * file. */
static uint64_t
bias_of(const struct profile_image *image)
{
    return image->start - image->offset;
}

/* Compare rows by what identifies a row of table hits in one window and source. */
static int
compare_keys(const void *left, const void *right)
{
    const struct sent_row *const a = left;
    const struct sent_row *const b = right;
    int order = compare_numbers(a->image, b->image);

    if (order == 0) {
        order = compare_numbers(a->row->address, b->row->address);
    }
    if (order == 0) {
        order = compare_numbers(a->variant, b->variant);
    }
    if (order == 0) {
        order = compare_numbers(a->row->process, b->row->process);
    }
    return order != 0 ? order : compare_numbers(a->row->unit, b->row->unit);
}

/* Return the profile's rows, for free(), in an order in which those with the same keys
 * are next to each other; NULL with the server's error set. */
static struct sent_row *
sort_rows(struct adding *adding)
{
    const struct profile *const profile = adding->profile;
    struct sent_row *const rows = calloc(profile->row_count + 1, sizeof(*rows));

    for (size_t i = 0; rows != NULL && i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];
        const char *const variant = variant_of(profile, row);

        rows[i] = (struct sent_row){
            .row = row,
            .image = adding->images[row->image],
            .variant = string_set_add(&adding->variants, variant, strlen(variant)),
        };
        if (rows[i].variant == HASH_INDEX_NONE) {
            free(rows);
            server_fail_memory(adding->server);
            return NULL;
        }
    }
    if (rows == NULL) {
        server_fail_memory(adding->server);
    } else {
        qsort(rows, profile->row_count, sizeof(*rows), compare_keys);
    }
    return rows;
}

/* Return the index behind the last row with the same keys as the row at first. */
static size_t
end_of_group(const struct adding *adding, const struct sent_row *rows, size_t first)
{
    size_t end = first + 1;

    while (end < adding->profile->row_count &&
           compare_keys(&rows[first], &rows[end]) == 0) {
        end++;
    }
    return end;
}

/* ---- names, each sent once in the life of the store ---- */

/* Remove the last row, from byte start on, from the rows to send if it was sent before.
 * Otherwise note its hash as one of those that remember_sent adds when they have
 * arrived. */
static void
drop_if_sent(struct adding *adding, size_t start)
{
    struct server *const server = adding->server;
    struct buffer *const rows = &adding->rows;
    /* FNV-1a in 64 bits: among a quarter of a million names, two that differ have the
     * same hash once in 500 million stores. */
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = start; i < rows->size && !rows->failed; i++) {
        hash = (hash ^ rows->data[i]) * UINT64_C(0x100000001b3);
    }
    hash += hash == 0; /* which says that a slot is free */
    for (size_t probe = (size_t)hash;; probe++) {
        const uint64_t known = server->sent[probe % (2 * SENT_MAX)];

        if (known == hash) {
            rows->size = start;
            return;
        }
        if (known == 0) {
            break;
        }
    }
    adding->new_hashes[adding->new_count++] = hash;
}

/* Add the names of the insertion that succeeded to those that the server has. A full
 * table is emptied first: then names are sent once more, which changes nothing. */
static void
remember_sent(struct adding *adding)
{
    struct server *const server = adding->server;

    if (server->sent_count + adding->new_count > SENT_MAX) {
        memset(server->sent, 0, 2 * SENT_MAX * sizeof(*server->sent));
        server->sent_count = 0;
    }
    for (size_t i = 0; i < adding->new_count && server->sent_count < SENT_MAX; i++) {
        size_t probe = (size_t)adding->new_hashes[i];

        while (server->sent[probe % (2 * SENT_MAX)] != 0) {
            probe++;
        }
        server->sent[probe % (2 * SENT_MAX)] = adding->new_hashes[i];
        server->sent_count++;
    }
    adding->new_count = 0;
}

/* Put an image's row of table images, unless it was sent before. */
static void
put_image(struct adding *adding, uint32_t index)
{
    const struct profile_image *const image = &adding->profile->images[index];
    struct buffer *const out = &adding->rows;
    const size_t start = out->size;

    row_binary_put_text(out, image_key(adding, index));
    row_binary_put(out, bias_of(image), 8);
    row_binary_put_text(out, image->path);
    row_binary_put_text(out, image->build_id);
    row_binary_put(out, image->start, 8);
    row_binary_put(out, image->limit, 8);
    row_binary_put(out, image->named, 1);
    drop_if_sent(adding, start);
}

static void
send_images(struct adding *adding)
{
    adding->rows.size = 0;
    for (size_t i = 0; i < adding->profile->image_count; i++) {
        put_image(adding, (uint32_t)i);
    }
    if (server_insert(adding->server,
                      "images(image, bias, path, build_id, low, high, named)",
                      &adding->rows)) {
        remember_sent(adding);
    }
}

static size_t
count_callers(const struct profile *profile, uint32_t caller)
{
    size_t count = 0;

    for (; caller != 0; caller = profile->frames[caller].caller) {
        count++;
    }
    return count;
}

/* The columns of a function that code was inlined into, in their order in the table. */
enum {
    CALLER_NAME,
    CALLER_SYSTEM_NAME,
    CALLER_FILE,
    CALLER_START_LINE,
    CALLER_LINE,
    CALLER_DEFINITION,
    CALLER_HAS_ADDRESS,
    CALLER_ADDRESS
};

/* Put one column of a function that a row's code was inlined into, which is no caller
 * on a stack: of the function, or the line of the call. */
static void
put_caller(struct buffer *out, int column, const struct profile_function *function,
           uint32_t line)
{
    switch (column) {
    case CALLER_NAME:
        row_binary_put_text(out, function->name);
        break;
    case CALLER_SYSTEM_NAME:
        row_binary_put_text(out, function->system_name);
        break;
    case CALLER_FILE:
        row_binary_put_text(out, function->file);
        break;
    case CALLER_START_LINE:
        row_binary_put(out, function->start_line, 4);
        break;
    case CALLER_LINE:
        row_binary_put(out, line, 4);
        break;
    case CALLER_DEFINITION:
        row_binary_put_text(out, function->definition);
        break;
    case CALLER_HAS_ADDRESS:
        row_binary_put(out, function->has_address, 1);
        break;
    default:
        row_binary_put(out, function->address, 8);
        break;
    }
}

/* Put the frames that a row was inlined into, as arrays of the same length, one for
 * each column from first to last. */
static void
put_callers(struct adding *adding, const struct profile_row *row, int first, int last)
{
    const struct profile *const profile = adding->profile;
    const unsigned kind = store_function_kind(profile, row);
    const size_t count = count_callers(profile, row->caller);

    for (int column = first; column <= last; column++) {
        row_binary_put_length(&adding->rows, count);
        for (uint32_t at = row->caller; at != 0; at = profile->frames[at].caller) {
            const struct profile_frame *const frame = &profile->frames[at];
            const struct profile_function function =
                profile_uses_function(profile, frame->function, kind);

            put_caller(&adding->rows, column, &function, frame->line);
        }
    }
}

/* Put the row of table places with the names of a row's bucket, unless it was sent
 * before. */
static void
put_place(struct adding *adding, const struct sent_row *key)
{
    const struct profile *const profile = adding->profile;
    const struct profile_row *const row = key->row;
    const struct profile_function function = profile_uses_function(
        profile, row->function, store_function_kind(profile, row));
    struct buffer *const out = &adding->rows;
    const size_t start = out->size;

    row_binary_put_text(out, image_key(adding, row->image));
    row_binary_put(out, bias_of(&profile->images[row->image]), 8);
    row_binary_put(out, row->address, 8);
    row_binary_put_text(out, adding->variants.texts[key->variant]);
    row_binary_put_text(out, function.name);
    row_binary_put_text(out, function.system_name);
    row_binary_put_text(out, function.file);
    row_binary_put(out, function.start_line, 4);
    row_binary_put(out, row->line, 4);
    put_callers(adding, row, CALLER_NAME, CALLER_LINE);
    row_binary_put(out, store_quality(profile, row), 1);
    row_binary_put_text(out, function.definition);
    row_binary_put(out, function.has_address, 1);
    row_binary_put(out, function.address, 8);
    put_callers(adding, row, CALLER_DEFINITION, CALLER_ADDRESS);
    drop_if_sent(adding, start);
}

static void
send_places(struct adding *adding, const struct sent_row *rows)
{
    adding->rows.size = 0;
    for (size_t i = 0; i < adding->profile->row_count; i++) {
        put_place(adding, &rows[i]);
    }
    if (server_insert(adding->server,
                      "places(image, bias, address, variant, function, system_name, "
                      "file, start_line, line, caller_functions, caller_system_names, "
                      "caller_files, caller_start_lines, caller_lines, quality, "
                      "definition, has_address, function_address, "
                      "caller_definitions, caller_has_addresses, caller_addresses)",
                      &adding->rows)) {
        remember_sent(adding);
    }
}

/* ---- figures ---- */

/* Put the columns of a window's key in hits and accounting: day and hour are those of
 * its start. */
static void
put_window_key(struct adding *adding, bool hour)
{
    const uint64_t hours = adding->profile->time_ns / HOUR_NS;
    struct buffer *const out = &adding->rows;

    row_binary_put(out, hours / DAY_HOURS, 2);
    if (hour) {
        row_binary_put(out, hours, 4);
    }
    row_binary_put_text(out, adding->window->host);
    row_binary_put_text(out, adding->window->epoch);
    row_binary_put(out, adding->profile->time_ns, 8);
}

/* Put one row of table hits: the hits of one source in the rows from first to end,
 * which have the same keys. Without hits there is no row. */
static void
put_hits(struct adding *adding, const struct sent_row *rows, size_t first, size_t end,
         size_t source)
{
    const struct profile *const profile = adding->profile;
    const struct profile_row *const row = rows[first].row;
    struct buffer *const out = &adding->rows;
    uint64_t sum = 0;

    for (size_t i = first; i < end; i++) {
        sum += rows[i].row->hits[source];
    }
    if (sum == 0) {
        return;
    }
    put_window_key(adding, /* hour */ true);
    row_binary_put_text(out, profile->sources[source].name);
    row_binary_put(out, profile->sources[source].granted, 8);
    row_binary_put_text(out, profile->processes[row->process]);
    row_binary_put_text(out, profile->units[row->unit]);
    row_binary_put_text(out, image_key(adding, row->image));
    row_binary_put(out, bias_of(&profile->images[row->image]), 8);
    row_binary_put(out, row->address, 8);
    row_binary_put_text(out, adding->variants.texts[rows[first].variant]);
    row_binary_put(out, sum, 8);
}

static void
send_hits(struct adding *adding, const struct sent_row *rows)
{
    const struct profile *const profile = adding->profile;

    adding->rows.size = 0;
    for (size_t i = 0, end; i < profile->row_count && !adding->server->failed;
         i = end) {
        end = end_of_group(adding, rows, i);
        for (size_t k = 0; k < profile->source_count; k++) {
            put_hits(adding, rows, i, end, k);
        }
    }
    server_insert(adding->server,
                  "hits(day, hour, host, epoch, start_ns, source, period, process, "
                  "unit, image, bias, address, variant, count)",
                  &adding->rows);
}

static void
send_accounting(struct adding *adding)
{
    struct buffer *const out = &adding->rows;

    out->size = 0;
    for (size_t i = 0; i < adding->profile->source_count; i++) {
        const struct profile_source *const source = &adding->profile->sources[i];
        uint64_t figures[STORE_FIGURES];
        uint64_t version = 0;

        store_list_figures(source, figures);
        put_window_key(adding, /* hour */ false);
        row_binary_put_text(out, source->name);
        row_binary_put(out, source->granted, 8);
        row_binary_put_text(out, source->nt_name);
        row_binary_put_text(out, source->unit);
        row_binary_put(out, source->kernel_included, 1);
        row_binary_put(out, source->user_left_out, 1);
        row_binary_put(out, source->asked, 8);
        row_binary_put_double(out, source->measured);
        for (size_t k = 0; k < STORE_FIGURES; k++) {
            row_binary_put(out, figures[k], 8);
            /* Each figure only grows, so a later state of the window has a larger sum,
             * and its row replaces the earlier one. */
            add_clamped(&version, figures[k]);
        }
        row_binary_put(out, version, 8);
    }
    server_insert(adding->server,
                  "accounting(day, host, epoch, start_ns, source, period, nt_name, "
                  "unit, kernel, user_left_out, asked, measured, expected, taken, "
                  "counted, outside, lost, throttled, missed, unfinished, excluded, "
                  "outside_kernel, version)",
                  out);
}

static const char *
text_of(const char *text)
{
    return text != NULL ? text : "";
}

/* Send the row of table windows. */
static void
send_window(struct adding *adding)
{
    const struct profile *const profile = adding->profile;
    const struct store_window *const window = adding->window;
    struct buffer *const out = &adding->rows;
    const uint64_t end_ns = profile->time_ns + profile->duration_ns;

    out->size = 0;
    row_binary_put(out, end_ns / HOUR_NS / DAY_HOURS, 2); /* day: of the end, here */
    row_binary_put_text(out, window->host);
    row_binary_put_text(out, window->epoch);
    row_binary_put(out, profile->time_ns, 8);
    row_binary_put(out, end_ns, 8);
    row_binary_put_text(out, text_of(window->boot));
    row_binary_put_length(out, window->label_count);
    for (size_t i = 0; i < window->label_count; i++) {
        row_binary_put_text(out, window->labels[i]);
    }
    row_binary_put_text(out, text_of(profile->command));
    row_binary_put_text(out, text_of(profile->hal));
    row_binary_put_text(out, text_of(profile->limits));
    row_binary_put_text(out, text_of(profile->gaps));
    row_binary_put(out, profile->bucket_bytes, 4);
    row_binary_put(out, clock_ns(CLOCK_REALTIME) / CLOCK_SECOND_NS, 4);
    server_insert(adding->server,
                  "windows(day, host, epoch, start_ns, end_ns, boot, labels, command, "
                  "backend, limits, gaps, bucket_bytes, added)",
                  out);
}

/* ---- whole windows ---- */

/* Allocate what adding needs. Returns false with the server's error set if memory runs
 * out. */
static bool
start_adding(struct adding *adding)
{
    const struct profile *const profile = adding->profile;
    struct server *const server = adding->server;

    if (server->sent == NULL) {
        server->sent = calloc(2 * SENT_MAX, sizeof(*server->sent));
    }
    /* Rows of images and of places together: after a failure none are removed. */
    adding->new_hashes =
        calloc(profile->row_count + profile->image_count + 1, sizeof(uint64_t));
    if (server->sent == NULL || adding->new_hashes == NULL) {
        return server_fail_memory(server);
    }
    return number_keys(adding);
}

static void
finish_adding(struct adding *adding)
{
    buffer_finish(&adding->rows);
    string_set_finish(&adding->image_keys);
    string_set_finish(&adding->variants);
    free(adding->images);
    free(adding->new_hashes);
}

bool
clickhouse_add(struct store *store, const struct profile *profile,
               const struct store_window *window, struct pprof_error *error)
{
    struct server *const server = (struct server *)store;
    struct adding adding = {.server = server, .profile = profile, .window = window};
    struct sent_row *rows;

    server_start(server, error);
    if (profile->bucket_bytes == 0) {
        return server_fail_for_good(
            server, "a profile of another tool has addresses of one run, which are not "
                    "added up over runs");
    }
    rows = start_adding(&adding) ? sort_rows(&adding) : NULL;
    if (rows != NULL) {
        send_images(&adding);
        send_places(&adding, rows);
        send_hits(&adding, rows);
        send_accounting(&adding);
        send_window(&adding);
    }
    free(rows);
    finish_adding(&adding);
    return !server->failed;
}

bool
clickhouse_rename(struct store *store, const struct profile *places,
                  struct pprof_error *error)
{
    struct server *const server = (struct server *)store;
    struct adding adding = {.server = server, .profile = places};
    struct sent_row *rows;

    server_start(server, error);
    rows = start_adding(&adding) ? sort_rows(&adding) : NULL;
    if (rows != NULL) {
        send_images(&adding);
        send_places(&adding, rows);
    }
    free(rows);
    finish_adding(&adding);
    return !server->failed;
}
