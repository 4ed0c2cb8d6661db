/* SPDX-License-Identifier: MIT */
/*
 * profile.c - a profile in memory.
 *
 * Invariants: equal strings are one pointer (string_set), so keys are compared by
 * pointer. Each entry of a table is in its hash index, except:
 *   - rows after profile_sort: by_row is then out of date (rows_moved), and is filled
 *     again before the next search
 *   - calls that are in callees: most callers have one callee
 */
#include "profile/profile.h"

#include "profile/join.h"
#include "profile/stack_ends.h"

#include "base/arithmetic.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "base/path.h"
#include "base/string_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTERS_IN_CHUNK = 8192 };

/* hits_chunk - hits of many rows in one allocation, so that a row needs no malloc. */
struct hits_chunk {
    struct hits_chunk *next;
    size_t used;
    uint64_t hits[];
};

struct profile_private {
    struct string_set strings;
    struct hash_index by_image, by_function, by_frame, by_process, by_unit;
    struct hash_index by_thread, by_row, by_call;
    size_t source_capacity, image_capacity, function_capacity, process_capacity;
    size_t frame_capacity, unit_capacity, thread_capacity, row_capacity, label_capacity;
    size_t call_capacity, callee_capacity;
    uint32_t *callees; /* by call: one that it is the caller of; 0: there is none */
    bool rows_moved;
    struct hits_chunk *chunks;
    size_t chunk_capacity; /* counters in each new chunk */
};

static bool add_new_frame(struct profile *profile, const struct profile_frame *frame,
                          uint32_t *index);
static bool add_new_call(struct profile *profile, const struct profile_call *call,
                         uint32_t *index);

/* --- creation --- */

struct profile *
profile_new(void)
{
    static const struct profile_frame nowhere = {0};
    static const struct profile_function nameless = {
        .name = "", .system_name = "", .file = ""};
    struct profile *profile = calloc(1, sizeof(*profile));
    uint32_t index;

    if (profile == NULL) {
        return NULL;
    }
    profile->private = calloc(1, sizeof(*profile->private));
    if (profile->private == NULL || !profile_add_function(profile, &nameless, &index) ||
        !add_new_frame(profile, &nowhere, &index) ||
        !add_new_call(profile, &(struct profile_call){0}, &index) ||
        !profile_add_unit(profile, "", &index) ||
        !profile_add_thread(profile, "", &index)) {
        profile_delete(profile);
        return NULL;
    }
    return profile;
}

static void
free_chunks(struct hits_chunk *chunk)
{
    while (chunk != NULL) {
        struct hits_chunk *const next = chunk->next;

        free(chunk);
        chunk = next;
    }
}

void
profile_delete(struct profile *profile)
{
    struct profile_private *private;

    if (profile == NULL) {
        return;
    }
    private = profile->private;
    if (private != NULL) {
        free_chunks(private->chunks);
        hash_index_finish(&private->by_image);
        hash_index_finish(&private->by_function);
        hash_index_finish(&private->by_frame);
        hash_index_finish(&private->by_process);
        hash_index_finish(&private->by_unit);
        hash_index_finish(&private->by_thread);
        hash_index_finish(&private->by_row);
        hash_index_finish(&private->by_call);
        string_set_finish(&private->strings);
        free(private->callees);
        free(private);
    }
    free(profile->command);
    free(profile->hal);
    free(profile->limits);
    free(profile->gaps);
    for (size_t i = 0; i < profile->source_count; i++) {
        free(profile->sources[i].parts);
    }
    free(profile->sources);
    free(profile->images);
    free(profile->functions);
    free(profile->frames);
    free(profile->calls);
    free(profile->processes);
    free(profile->units);
    free(profile->threads);
    free(profile->labels);
    free(profile->rows);
    free(profile);
}

/* --- strings --- */

const char *
profile_string(struct profile *profile, const char *text)
{
    struct string_set *strings = &profile->private->strings;
    const uint32_t number = string_set_add(strings, text, strlen(text));

    return number == HASH_INDEX_NONE ? NULL : strings->texts[number];
}

/* Intern *text in place; NULL counts as "". */
static bool
intern(struct profile *profile, const char **text)
{
    if (*text == NULL || !string_set_owns(&profile->private->strings, *text)) {
        *text = profile_string(profile, *text != NULL ? *text : "");
    }
    return *text != NULL;
}

static uint32_t
hash_pointer(uint32_t hash, const void *pointer)
{
    return hash_mix(hash, (uint64_t)(uintptr_t)pointer);
}

/* --- sources, images and functions --- */

bool
profile_add_source(struct profile *profile, const struct profile_source *source,
                   uint32_t *index)
{
    const struct profile_source *known;
    struct profile_source added = *source;

    added.parts = NULL;
    added.part_count = 0;
    added.first_part = 0;

    if (!intern(profile, &added.name) || !intern(profile, &added.nt_name) ||
        !intern(profile, &added.unit)) {
        return false;
    }
    known = profile_find_interval(profile, &added);
    if (known != NULL) {
        *index = (uint32_t)(known - profile->sources);
        return true;
    }
    if (profile->row_count > 0 ||
        !array_reserve((void **)&profile->sources, profile->source_count,
                       &profile->private->source_capacity, sizeof(added),
                       HASH_INDEX_NONE)) {
        return false;
    }
    profile->sources[profile->source_count] = added;
    *index = (uint32_t)profile->source_count++;
    return true;
}

static bool
image_equal(const struct profile_image *a, const struct profile_image *b)
{
    return a->path == b->path && a->build_id == b->build_id && a->start == b->start &&
           a->limit == b->limit && a->offset == b->offset;
}

bool
profile_add_image(struct profile *profile, const struct profile_image *image,
                  uint32_t *index)
{
    struct profile_private *private = profile->private;
    struct profile_image added = *image;
    size_t probe = 0;
    uint32_t hash;

    if (!intern(profile, &added.path) || !intern(profile, &added.build_id)) {
        return false;
    }
    hash = hash_mix(hash_pointer(hash_pointer(0, added.path), added.build_id),
                    added.start);
    hash = hash_mix(hash_mix(hash, added.limit), added.offset);
    while ((*index = hash_index_find(&private->by_image, hash, &probe)) !=
           HASH_INDEX_NONE) {
        assert(*index < profile->image_count && profile->images != NULL);
        if (image_equal(&profile->images[*index], &added)) {
            profile->images[*index].named |= added.named;
            return true;
        }
    }
    if (!array_reserve((void **)&profile->images, profile->image_count,
                       &private->image_capacity, sizeof(added), HASH_INDEX_NONE) ||
        !hash_index_add(&private->by_image, hash, (uint32_t)profile->image_count)) {
        return false;
    }
    profile->images[profile->image_count] = added;
    *index = (uint32_t)profile->image_count++;
    return true;
}

static bool
function_equal(const struct profile_function *a, const struct profile_function *b)
{
    return a->name == b->name && a->system_name == b->system_name &&
           a->file == b->file && a->start_line == b->start_line &&
           a->has_address == b->has_address && a->address == b->address &&
           a->definition == b->definition;
}

/* Intern a path without "NAME/..": one source file must not be two. Other tools write
 * such paths, and so did older versions. */
static bool
intern_path(struct profile *profile, const char **path)
{
    char *clean;
    bool done;

    if (*path == NULL || !path_is_unclean(*path)) {
        return intern(profile, path);
    }
    clean = strdup(*path);
    if (clean == NULL) {
        return false;
    }
    path_clean(clean);
    *path = clean;
    done = intern(profile, path);
    free(clean);
    return done;
}

bool
profile_add_function(struct profile *profile, const struct profile_function *function,
                     uint32_t *index)
{
    struct profile_private *private = profile->private;
    struct profile_function added = *function;
    size_t probe = 0;
    uint32_t hash;

    added.address = added.has_address ? added.address : 0;
    if (!intern(profile, &added.name) || !intern(profile, &added.system_name) ||
        !intern_path(profile, &added.file) ||
        !intern_path(profile, &added.definition)) {
        return false;
    }
    if (added.definition == added.file) {
        added.definition = "";
        if (!intern(profile, &added.definition)) {
            return false;
        }
    }
    hash = hash_pointer(hash_pointer(0, added.name), added.system_name);
    hash = hash_mix(hash_pointer(hash, added.file), added.start_line);
    hash = hash_pointer(hash_mix(hash, added.address), added.definition);
    while ((*index = hash_index_find(&private->by_function, hash, &probe)) !=
           HASH_INDEX_NONE) {
        assert(*index < profile->function_count && profile->functions != NULL);
        if (function_equal(&profile->functions[*index], &added)) {
            return true;
        }
    }
    if (!array_reserve((void **)&profile->functions, profile->function_count,
                       &private->function_capacity, sizeof(added), HASH_INDEX_NONE) ||
        !hash_index_add(&private->by_function, hash,
                        (uint32_t)profile->function_count)) {
        return false;
    }
    assert(profile->functions != NULL); /* ensured by reserve */
    profile->functions[profile->function_count] = added;
    *index = (uint32_t)profile->function_count++;
    return true;
}

/* --- frames --- */

/* Find or add a frame, also frame 0, which profile_add_frame refuses. */
static bool
add_new_frame(struct profile *profile, const struct profile_frame *frame,
              uint32_t *index)
{
    struct profile_private *private = profile->private;
    const uint32_t hash = hash_mix(
        hash_mix(0, (uint64_t)frame->function << 32 | frame->line), frame->caller);
    size_t probe = 0;

    while ((*index = hash_index_find(&private->by_frame, hash, &probe)) !=
           HASH_INDEX_NONE) {
        const struct profile_frame *known = &profile->frames[*index];

        if (known->function == frame->function && known->line == frame->line &&
            known->caller == frame->caller) {
            return true;
        }
    }
    if (!array_reserve((void **)&profile->frames, profile->frame_count,
                       &private->frame_capacity, sizeof(*frame), HASH_INDEX_NONE) ||
        !hash_index_add(&private->by_frame, hash, (uint32_t)profile->frame_count)) {
        return false;
    }
    profile->frames[profile->frame_count] = *frame;
    *index = (uint32_t)profile->frame_count++;
    return true;
}

bool
profile_add_frame(struct profile *profile, const struct profile_frame *frame,
                  uint32_t *index)
{
    return frame->function != 0 && frame->function < profile->function_count &&
           frame->caller < profile->frame_count && add_new_frame(profile, frame, index);
}

/* --- calls --- */

/* Without by_name, names are no part of the hash: they may change. */
static uint32_t
hash_call(const struct profile_call *call)
{
    uint32_t hash = hash_mix(hash_mix(0, call->address),
                             (uint64_t)call->image << 32 | call->caller);

    if (call->end != NULL) {
        return hash_pointer(hash, call->end);
    }
    if (call->by_name) {
        hash = hash_mix(hash, (uint64_t)call->function << 32 | call->line);
        hash = hash_mix(hash, call->inlined);
    }
    return hash;
}

static bool
call_equal(const struct profile_call *a, const struct profile_call *b)
{
    return a->end == b->end && a->address == b->address && a->image == b->image &&
           a->caller == b->caller && a->by_name == b->by_name &&
           (!a->by_name || (a->function == b->function && a->line == b->line &&
                            a->inlined == b->inlined));
}

/* Find a call. Returns HASH_INDEX_NONE if there is none. */
static uint32_t
find_call(const struct profile *profile, const struct profile_call *call)
{
    uint32_t found = call->caller != 0 ? profile->private->callees[call->caller] : 0;
    size_t probe = 0;

    if (call->caller != 0 && (found == 0 || call_equal(&profile->calls[found], call))) {
        return found != 0 ? found : HASH_INDEX_NONE;
    }
    do {
        found = hash_index_find(&profile->private->by_call, hash_call(call), &probe);
    } while (found != HASH_INDEX_NONE && !call_equal(&profile->calls[found], call));
    return found;
}

/* Find or add a call whose end is interned, also call 0, which is neither. */
static bool
add_new_call(struct profile *profile, const struct profile_call *call, uint32_t *index)
{
    struct profile_private *const private = profile->private;
    const size_t count = profile->call_count;

    *index = find_call(profile, call);
    if (*index != HASH_INDEX_NONE) {
        return true;
    }
    if (!array_reserve((void **)&profile->calls, count, &private->call_capacity,
                       sizeof(*call), HASH_INDEX_NONE) ||
        !array_reserve((void **)&private->callees, count, &private->callee_capacity,
                       sizeof(*index), HASH_INDEX_NONE)) {
        return false;
    }
    if (call->caller != 0 && private->callees[call->caller] == 0) {
        private->callees[call->caller] = (uint32_t)count;
    } else if (!hash_index_add(&private->by_call, hash_call(call), (uint32_t)count)) {
        return false;
    }
    private->callees[count] = 0;
    profile->calls[count] = *call;
    *index = (uint32_t)profile->call_count++;
    return true;
}

bool
profile_has_stacks(const struct profile *profile)
{
    return profile->call_count > 1; /* [0] is "no stack" */
}

static bool
add_end(struct profile *profile, const char *name, uint32_t *index)
{
    const struct profile_function shown = {.name = name, .system_name = name};
    struct profile_call end = {.end = name};

    return intern(profile, &end.end) &&
           (!profile_end_is_shown(name) ||
            profile_add_function(profile, &shown, &end.function)) &&
           add_new_call(profile, &end, index);
}

bool
profile_add_call(struct profile *profile, const struct profile_call *call,
                 uint32_t *index)
{
    struct profile_call added = *call;

    if (call->end != NULL) {
        return call->caller == 0 && add_end(profile, call->end, index);
    }
    if (call->caller == 0 || call->caller >= profile->call_count ||
        call->image >= profile->image_count ||
        call->function >= profile->function_count ||
        call->inlined >= profile->frame_count) {
        return false;
    }
    if (call->function == 0) {
        added.line = 0;
        added.inlined = 0;
    }
    return add_new_call(profile, &added, index);
}

bool
profile_expect_calls(struct profile *profile, size_t more)
{
    struct profile_private *const private = profile->private;
    const size_t count = profile->call_count + more;

    return array_expect((void **)&profile->calls, count, &private->call_capacity,
                        sizeof(*profile->calls)) &&
           array_expect((void **)&private->callees, count, &private->callee_capacity,
                        sizeof(*private->callees));
}

/* --- processes, units, threads and labels --- */

/* names - a table of names and its index. */
struct names {
    const char ***list;
    size_t *count;
    size_t *capacity;
    struct hash_index *index;
};

/* Find or add a name, and store its index. Returns false if memory runs out. */
static bool
add_name(struct profile *profile, const struct names *names, const char *name,
         uint32_t *index)
{
    size_t probe = 0;
    uint32_t hash;

    if (!intern(profile, &name)) {
        return false;
    }
    hash = hash_pointer(0, name);
    while ((*index = hash_index_find(names->index, hash, &probe)) != HASH_INDEX_NONE) {
        assert(*index < *names->count && *names->list != NULL);
        if ((*names->list)[*index] == name) {
            return true;
        }
    }
    if (!array_reserve((void **)names->list, *names->count, names->capacity,
                       sizeof(name), HASH_INDEX_NONE) ||
        !hash_index_add(names->index, hash, (uint32_t)*names->count)) {
        return false;
    }
    (*names->list)[*names->count] = name;
    *index = (uint32_t)(*names->count)++;
    return true;
}

bool
profile_add_process(struct profile *profile, const char *name, uint32_t *index)
{
    const struct names names = {&profile->processes, &profile->process_count,
                                &profile->private->process_capacity,
                                &profile->private->by_process};

    return add_name(profile, &names, name, index);
}

bool
profile_add_unit(struct profile *profile, const char *name, uint32_t *index)
{
    const struct names names = {&profile->units, &profile->unit_count,
                                &profile->private->unit_capacity,
                                &profile->private->by_unit};

    return add_name(profile, &names, name, index);
}

bool
profile_add_thread(struct profile *profile, const char *name, uint32_t *index)
{
    const struct names names = {&profile->threads, &profile->thread_count,
                                &profile->private->thread_capacity,
                                &profile->private->by_thread};

    return add_name(profile, &names, name, index);
}

static struct profile_label *
find_label(const struct profile *profile, const char *key)
{
    for (size_t i = 0; i < profile->label_count; i++) {
        if (strcmp(profile->labels[i].key, key) == 0) {
            return &profile->labels[i];
        }
    }
    return NULL;
}

const char *
profile_label(const struct profile *profile, const char *key)
{
    const struct profile_label *const label = find_label(profile, key);

    return label != NULL ? label->value : NULL;
}

bool
profile_set_label(struct profile *profile, const char *key, const char *value)
{
    struct profile_label added = {key, value};
    struct profile_label *const known = find_label(profile, key);

    if (!intern(profile, &added.key) || !intern(profile, &added.value)) {
        return false;
    }
    if (known != NULL) {
        known->value = added.value;
        return true;
    }
    if (profile->label_count == PROFILE_LABELS_MAX ||
        !array_reserve((void **)&profile->labels, profile->label_count,
                       &profile->private->label_capacity, sizeof(added),
                       HASH_INDEX_NONE)) {
        return false;
    }
    profile->labels[profile->label_count++] = added;
    return true;
}

/* --- rows --- */

/* Hash the keys of a row. With by_name the function is one of them: in files of other
 * tools all rows may have the same address. Keys that most rows lack cost time only in
 * rows that have them. */
static uint32_t
hash_row(const struct profile_row *row)
{
    uint32_t hash =
        hash_mix(hash_mix(0, row->address), (uint64_t)row->image << 32 | row->process);

    if (row->by_name) {
        hash = hash_mix(hash, (uint64_t)row->function << 32 | row->line);
        hash = hash_mix(hash, row->caller);
    }
    if (row->unit != 0) {
        hash = hash_mix(hash, row->unit);
    }
    if (row->pid != 0) {
        hash = hash_mix(hash, row->pid);
    }
    if (row->stack != 0) {
        hash = hash_mix(hash, row->stack);
    }
    if (row->thread == 0 && row->cpu_plus_1 == 0) {
        return hash;
    }
    return hash_mix(hash, (uint64_t)row->thread << 32 | row->cpu_plus_1);
}

static bool
row_equal(const struct profile_row *a, const struct profile_row *b)
{
    return a->address == b->address && a->image == b->image &&
           a->process == b->process && a->unit == b->unit && a->thread == b->thread &&
           a->cpu_plus_1 == b->cpu_plus_1 && a->pid == b->pid && a->stack == b->stack &&
           a->by_name == b->by_name;
}

/* Fill by_row again after rows were moved. */
static bool
index_rows(struct profile *profile)
{
    struct profile_private *private = profile->private;

    if (!private->rows_moved) {
        return true;
    }
    hash_index_clear(&private->by_row);
    for (size_t i = 0; i < profile->row_count; i++) {
        if (!hash_index_add(&private->by_row, hash_row(&profile->rows[i]),
                            (uint32_t)i)) {
            return false;
        }
    }
    private->rows_moved = false;
    return true;
}

/* Allocate zeroed counters for one row. */
static uint64_t *
new_hits(struct profile *profile)
{
    struct profile_private *private = profile->private;
    struct hits_chunk *chunk = private->chunks;

    if (chunk == NULL ||
        chunk->used + profile->source_count > private->chunk_capacity) {
        private->chunk_capacity = profile->source_count > COUNTERS_IN_CHUNK
                                      ? profile->source_count
                                      : COUNTERS_IN_CHUNK;
        chunk = calloc(1, sizeof(*chunk) +
                              private->chunk_capacity * sizeof(chunk->hits[0]));
        if (chunk == NULL) {
            return NULL;
        }
        chunk->next = private->chunks;
        private->chunks = chunk;
    }
    chunk->used += profile->source_count;
    return &chunk->hits[chunk->used - profile->source_count];
}

static bool
same_name(const struct profile_row *a, const struct profile_row *b)
{
    return a->function == b->function && a->line == b->line && a->caller == b->caller;
}

/* Return the row with the keys of wanted, or NULL. */
static struct profile_row *
find_row(const struct profile *profile, const struct profile_row *wanted, uint32_t hash)
{
    size_t probe = 0;
    uint32_t index;

    while ((index = hash_index_find(&profile->private->by_row, hash, &probe)) !=
           HASH_INDEX_NONE) {
        struct profile_row *row = &profile->rows[index];

        if (row_equal(row, wanted) && (!row->by_name || same_name(row, wanted))) {
            return row;
        }
    }
    return NULL;
}

/* Find or add the row with the keys of wanted. Returns NULL if memory runs out. */
static struct profile_row *
find_or_add_row(struct profile *profile, const struct profile_row *wanted)
{
    struct profile_private *private = profile->private;
    const uint32_t hash = hash_row(wanted);
    struct profile_row *const known = find_row(profile, wanted, hash);
    uint64_t *hits;

    if (known != NULL) {
        return known;
    }
    if (!array_reserve((void **)&profile->rows, profile->row_count,
                       &private->row_capacity, sizeof(*wanted), HASH_INDEX_NONE)) {
        return NULL;
    }
    hits = new_hits(profile);
    if (hits == NULL ||
        !hash_index_add(&private->by_row, hash, (uint32_t)profile->row_count)) {
        return NULL;
    }
    profile->rows[profile->row_count] = *wanted;
    profile->rows[profile->row_count].hits = hits;
    return &profile->rows[profile->row_count++];
}

struct profile_row *
profile_row_at(struct profile *profile, const struct profile_place *place, bool exact)
{
    const struct profile_row wanted = {
        .address = place->address,
        .image = place->image,
        .function = place->function,
        .line = place->function != 0 ? place->line : 0,
        .caller = place->function != 0 ? place->caller : 0,
        .process = place->process,
        .unit = place->unit,
        .thread = place->thread,
        .cpu_plus_1 = place->cpu_plus_1,
        .pid = place->pid,
        .stack = place->stack,
        .by_name = exact,
    };

    if (place->image >= profile->image_count ||
        place->process >= profile->process_count ||
        place->unit >= profile->unit_count || place->thread >= profile->thread_count ||
        place->function >= profile->function_count ||
        place->caller >= profile->frame_count || place->stack >= profile->call_count ||
        !index_rows(profile)) {
        return NULL;
    }
    return find_or_add_row(profile, &wanted);
}

bool
profile_add_hits_at(struct profile *profile, const struct profile_place *place,
                    uint32_t source, uint64_t hits)
{
    struct profile_row *row;

    if (source >= profile->source_count) {
        return false;
    }
    row = profile_row_at(profile, place, /* exact */ false);
    if (row == NULL) {
        return false;
    }
    add_clamped(&row->hits[source], hits);
    return true;
}

bool
profile_add_hits(struct profile *profile, uint32_t image, uint64_t address,
                 uint32_t process, uint32_t function, uint32_t line, uint32_t source,
                 uint64_t hits)
{
    const struct profile_place place = {
        .image = image,
        .process = process,
        .address = address,
        .function = function,
        .line = line,
    };

    return profile_add_hits_at(profile, &place, source, hits);
}

/* --- order and changes --- */

static int
compare_rows(const void *left, const void *right, void *source_count)
{
    const struct profile_row *a = left;
    const struct profile_row *b = right;
    int order = 0;

    for (size_t i = 0; order == 0 && i < *(const size_t *)source_count; i++) {
        order = compare_numbers(b->hits[i], a->hits[i]);
    }
    if (order == 0) {
        order = compare_numbers(a->address, b->address);
    }
    if (order == 0) {
        order = compare_numbers(a->image, b->image);
    }
    if (order == 0) {
        order = compare_numbers(a->process, b->process);
    }
    if (order == 0) {
        order = compare_numbers(a->unit, b->unit);
    }
    if (order == 0) {
        order = compare_numbers(a->thread, b->thread);
    }
    if (order == 0) {
        order = compare_numbers(a->pid, b->pid);
    }
    if (order == 0) {
        order = compare_numbers(a->cpu_plus_1, b->cpu_plus_1);
    }
    return order != 0 ? order : compare_numbers(a->stack, b->stack);
}

uint32_t
profile_outer_function(const struct profile *profile, const struct profile_row *row)
{
    uint32_t function = row->function;

    for (uint32_t at = row->caller; at != 0; at = profile->frames[at].caller) {
        assert(at < profile->frame_count && profile->frames[at].caller < at);
        function = profile->frames[at].function;
    }
    return function;
}

void
profile_sort(struct profile *profile)
{
    if (profile->row_count > 1) {
        qsort_r(profile->rows, profile->row_count, sizeof(*profile->rows), compare_rows,
                &profile->source_count);
        profile->private->rows_moved = true;
    }
}

bool
profile_remove_stacks(struct profile *profile)
{
    struct profile_private *private = profile->private;
    const size_t count = profile->row_count;

    if (!profile_has_stacks(profile)) {
        return true;
    }
    hash_index_clear(&private->by_row);
    private->rows_moved = false;
    profile->row_count = 0;
    /* The rows that are kept move to the start of the table. */
    for (size_t i = 0; i < count; i++) {
        struct profile_row row = profile->rows[i];
        struct profile_row *known;
        uint32_t hash;

        row.stack = 0;
        hash = hash_row(&row);
        known = find_row(profile, &row, hash);
        if (known != NULL) {
            add_all_clamped(known->hits, row.hits, profile_width(profile));
            continue;
        }
        if (!hash_index_add(&private->by_row, hash, (uint32_t)profile->row_count)) {
            return false;
        }
        profile->rows[profile->row_count++] = row;
    }
    for (size_t i = 0; i < profile->source_count; i++) {
        profile->sources[i].stack_bytes = 0;
        profile->sources[i].contexts = 0;
        profile->sources[i].contexts_max = 0;
    }
    hash_index_clear(&private->by_call);
    profile->call_count = 0; /* and add [0], "no stack", again */
    return add_new_call(profile, &(struct profile_call){0}, &(uint32_t){0});
}

bool
profile_change_hits(struct profile *profile, size_t width,
                    void (*fill)(void *context, const uint64_t *from, uint64_t *to),
                    void *context)
{
    struct hits_chunk *chunk;
    size_t size;

    if (__builtin_mul_overflow(profile->row_count, width, &size) ||
        __builtin_mul_overflow(size, sizeof(chunk->hits[0]), &size) ||
        __builtin_add_overflow(size, sizeof(*chunk), &size)) {
        return false;
    }
    chunk = calloc(1, size);
    if (chunk == NULL) {
        return false;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        uint64_t *const hits = &chunk->hits[i * width];

        fill(context, profile->rows[i].hits, hits);
        profile->rows[i].hits = hits;
    }
    chunk->used = profile->row_count * width;
    free_chunks(profile->private->chunks);
    profile->private->chunks = chunk;
    profile->private->chunk_capacity = chunk->used;
    return true;
}

void
profile_keep_source(struct profile *profile, size_t source)
{
    struct profile_source *const only = &profile->sources[0];
    const struct profile_source kept_source = profile->sources[source];
    const size_t parts = kept_source.part_count * sizeof(uint64_t);
    size_t kept = 0;

    assert(source < profile->source_count);
    for (size_t i = 0; i < profile->row_count; i++) {
        struct profile_row *const row = &profile->rows[i];

        row->hits[0] = row->hits[source];
        if (parts > 0) {
            memmove(&row->hits[1], &row->hits[kept_source.first_part], parts);
        }
        if (row->hits[0] != 0) {
            profile->rows[kept++] = *row;
        }
    }
    profile->row_count = kept;
    for (size_t i = 0; i < profile->source_count; i++) {
        if (i != source) {
            free(profile->sources[i].parts);
        }
    }
    *only = kept_source;
    only->first_part = 1;
    profile->source_count = 1;
}
