/* SPDX-License-Identifier: MIT */
/*
 * naming_calls.c - calls of a profile from the nodes of stacks, and rows apart by them.
 *
 * Places of calls are named by image, since a reader is asked for many names at once.
 * Then calls are added in the order of nodes, in which a caller is before what it
 * calls.
 */
#include "record/collect/namingp.h"
#include "record/collect/place.h"

#include "base/array.h"
#include "base/hash_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Places whose names are looked up at once. */
enum { PLACES_MAX = 4096 };

/* work - the calls that are being named. There are far fewer places than calls. */
struct work {
    struct naming *naming;
    struct profile *profile;
    struct image *const *images;
    struct profile_call *calls; /* by place: its names; and its image's number until
                                 * they are there */
    size_t count;               /* of places */
    size_t room;
    uint32_t *places; /* by node that is a call: its place */
    uint32_t *order;  /* places by image and address */
};

void
calls_finish(struct calls *calls)
{
    free(calls->stacks);
    free(calls->ends);
    free(calls->images);
    *calls = (struct calls){0};
}

bool
naming_has_calls(const struct naming *naming, size_t image, uint32_t *index)
{
    const struct calls *const calls = &naming->calls;

    if (image >= calls->image_count || calls->images[image] == UINT32_MAX) {
        return false;
    }
    *index = calls->images[image];
    return true;
}

/* --- ends --- */

/* Write the name of an end; path is that of its image. */
static void
name_end(char *text, size_t size, enum stack_end end, const char *path,
         uint64_t stack_bytes)
{
    const bool kilobytes = stack_bytes % 1024 == 0;

    switch (end) {
    case STACK_WHOLE:
        snprintf(text, size, PROFILE_STACK_WHOLE);
        break;
    case STACK_BY_FRAME_POINTER:
        snprintf(text, size, "by frame pointer");
        break;
    case STACK_CUT:
        snprintf(text, size, "[cut at %llu %s]",
                 (unsigned long long)(kilobytes ? stack_bytes / 1024 : stack_bytes),
                 kilobytes ? "kB" : "bytes");
        break;
    case STACK_NOT_READABLE:
        snprintf(text, size, "[stack not readable]");
        break;
    case STACK_NO_RULES:
        snprintf(text, size, "[no unwind rules in %s]", path);
        break;
    case STACK_UNSUPPORTED:
        snprintf(text, size, "[unwind rules not supported in %s]", path);
        break;
    case STACK_DEEP:
        snprintf(text, size, "[deeper than %d frames]", STACK_FRAMES_MAX);
        break;
    case STACK_KERNEL_CUT:
        snprintf(text, size, "[cut in the kernel]");
        break;
    case STACK_OTHER:
        snprintf(text, size, "[other callers]");
        break;
    default:
        snprintf(text, size, "[callers not recorded]");
        break;
    }
}

static bool
add_end(const struct work *work, enum stack_end end, uint32_t image, uint32_t *index)
{
    const char *const path =
        image != STACK_NO_IMAGE ? work->images[image]->path : "unknown code";
    const size_t size = strlen(path) + 64;
    char *const name = malloc(size);
    const struct profile_call call = {.end = name};
    bool added;

    if (name == NULL) {
        return false;
    }
    name_end(name, size, end, path, work->naming->stacks->stack_bytes);
    added = profile_add_call(work->profile, &call, index);
    free(name);
    return added;
}

/* --- places of calls --- */

/* Find or add the place of a node. Returns false if memory runs out. */
static bool
add_place(struct work *work, struct hash_index *index, const struct stack_node *node,
          uint32_t *place)
{
    const uint32_t hash = hash_mix(hash_mix(0, node->address), node->image);
    size_t probe = 0;

    while ((*place = hash_index_find(index, hash, &probe)) != HASH_INDEX_NONE) {
        if (work->calls[*place].address == node->address &&
            work->calls[*place].image == node->image) {
            return true;
        }
    }
    if (!array_reserve((void **)&work->calls, work->count, &work->room,
                       sizeof(*work->calls), HASH_INDEX_NONE) ||
        !hash_index_add(index, hash, (uint32_t)work->count)) {
        return false;
    }
    work->calls[work->count] =
        (struct profile_call){.address = node->address, .image = node->image};
    *place = (uint32_t)work->count++;
    return true;
}

static int
compare_places(const void *left, const void *right, void *context)
{
    const struct profile_call *const calls = context;
    const struct profile_call *const a = &calls[*(const uint32_t *)left];
    const struct profile_call *const b = &calls[*(const uint32_t *)right];

    if (a->image != b->image) {
        return a->image < b->image ? -1 : 1;
    }
    return (a->address > b->address) - (a->address < b->address);
}

/* Make the list of places and their order. Returns false if memory runs out. */
static bool
find_places(struct work *work)
{
    const struct callers_cut *const cut = work->naming->stacks->cut;
    struct hash_index index = {0};
    bool complete;

    work->places = malloc(cut->node_count * sizeof(*work->places));
    complete = work->places != NULL;
    for (size_t i = 0; complete && i < cut->node_count; i++) {
        complete = cut->nodes[i].caller == STACK_NO_NODE ||
                   add_place(work, &index, &cut->nodes[i], &work->places[i]);
    }
    hash_index_finish(&index);
    work->order = complete ? malloc((work->count + 1) * sizeof(*work->order)) : NULL;
    if (work->order == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < work->count; i++) {
        work->order[i] = i;
    }
    if (work->count > 0) {
        qsort_r(work->order, work->count, sizeof(*work->order), compare_places,
                work->calls);
    }
    return true;
}

static struct profile_call *
call_at(const struct work *work, size_t at)
{
    return &work->calls[work->order[at]];
}

/* --- names of calls --- */

static int
compare_counts(const void *left, const void *right)
{
    const struct count *const a = left;
    const struct count *const b = right;

    return (a->place > b->place) - (a->place < b->place);
}

/* Add an image to the profile, whose range is that of its rows and of its calls, whose
 * places are [from, to) in work->order. Returns false if memory runs out. */
static bool
add_image(struct work *work, struct image *image, struct namer *namer, size_t from,
          size_t to, uint32_t *index)
{
    const uint64_t bytes = naming_counted_bytes(work->profile);
    const struct counts *const rows =
        work->naming->stacks->recent ? &image->taken : &image->totals;
    struct counts all = {.count = rows->count + (to - from)};
    bool added;

    all.items = calloc(all.count, sizeof(*all.items));
    if (all.items == NULL) {
        return false;
    }
    if (rows->count > 0) {
        memcpy(all.items, rows->items, rows->count * sizeof(*all.items));
    }
    all.count = rows->count;
    for (size_t i = from; i < to; i++) {
        all.items[all.count++].place = call_at(work, i)->address;
    }
    qsort(all.items, all.count, sizeof(*all.items), compare_counts);
    namer_read_map(work->naming, namer, image, &all, bytes);
    added = naming_add_image(work->profile, image, &all, namer, index);
    free(all.items);
    return added;
}

/* Take the places [at, to), as many as are looked up at once. Returns the first one
 * behind them. */
static size_t
take_places(const struct work *work, size_t at, size_t to, uint64_t *places,
            struct sym_wanted *wanted)
{
    wanted->places = places;
    wanted->count = 0;
    while (at < to && wanted->count < PLACES_MAX) {
        places[wanted->count++] = call_at(work, at++)->address;
    }
    return at;
}

/* Name the calls of a place. Returns false if memory runs out. */
static bool
name_call(struct work *work, struct namer *namer, uint32_t image, size_t at)
{
    struct profile_call *const call = call_at(work, at);
    struct profile_place named = {0};
    struct sym_name name;
    const char *module;
    const bool found = namer_look_up(namer, call->address, 1, &name, &module);

    namer->missed = namer->missed || !found;
    if ((found || name.has_start) && !place_set_name(work->profile, &name, &named)) {
        return false;
    }
    if (namer->kernel && module[0] != '\0' &&
        !naming_add_module(work->profile, module, &image)) {
        return false;
    }
    *call = (struct profile_call){
        .address = name.address,
        .image = image,
        .function = named.function,
        .line = named.line,
        .inlined = named.caller,
    };
    return true;
}

/* Name the calls of an image, whose places are [from, to) in work->order. Returns false
 * if memory runs out. */
static bool
name_image(struct work *work, uint32_t number, size_t from, size_t to)
{
    struct image *const image = work->images[number];
    struct namer *const namer = naming_get(work->naming, number);
    struct sym_wanted wanted = {.bytes = 1};
    uint64_t *const places = calloc(PLACES_MAX, sizeof(*places));
    uint32_t index = 0;
    size_t next;
    bool complete = namer != NULL && places != NULL;

    if (complete) {
        next = take_places(work, from, to, places, &wanted);
        namer_open(work->naming, namer, image, &wanted);
        complete = add_image(work, image, namer, from, to, &index);
        work->naming->calls.images[number] = index;
    }
    for (size_t i = from; complete && i < to; i++) {
        if (i == next) {
            next = take_places(work, i, to, places, &wanted);
            namer_expect(namer, &wanted);
        }
        complete = name_call(work, namer, index, i);
    }
    if (complete) {
        namer_report(work->naming, namer);
        naming_bound(work->naming);
    }
    free(places);
    return complete;
}

/* Name all calls, image by image. Returns false if memory runs out. */
static bool
name_calls(struct work *work)
{
    bool complete = true;

    for (size_t from = 0; complete && from < work->count;) {
        const uint32_t image = call_at(work, from)->image;
        size_t to = from;

        while (to < work->count && call_at(work, to)->image == image) {
            to++;
        }
        complete = name_image(work, image, from, to);
        from = to;
    }
    return complete;
}

/* --- calls of the profile --- */

/* Add all ends and calls, in the order of nodes. Returns false if memory runs out. */
static bool
add_calls(struct work *work)
{
    const struct callers_cut *const cut = work->naming->stacks->cut;
    struct calls *const calls = &work->naming->calls;
    bool complete =
        profile_expect_calls(work->profile, cut->node_count + 1) &&
        add_end(work, STACK_NOT_RECORDED, STACK_NO_IMAGE, &calls->not_recorded);

    for (size_t i = 0; complete && i < cut->node_count; i++) {
        const struct stack_node *const node = &cut->nodes[i];

        if (node->caller == STACK_NO_NODE) {
            calls->ends[i] = (uint8_t)node->address;
            complete = add_end(work, (enum stack_end)node->address, node->image,
                               &calls->stacks[i]);
        } else {
            struct profile_call call = work->calls[work->places[i]];

            calls->ends[i] = calls->ends[node->caller];
            call.caller = calls->stacks[node->caller];
            complete = profile_add_call(work->profile, &call, &calls->stacks[i]);
        }
    }
    return complete;
}

bool
naming_add_calls(struct naming *naming, struct profile *profile,
                 struct image *const *images, size_t count)
{
    const size_t node_count = naming->stacks->cut->node_count;
    struct calls *const calls = &naming->calls;
    struct work work = {.naming = naming, .profile = profile, .images = images};
    bool complete;

    calls_finish(calls);
    memset(naming->stacks->ends, 0, sizeof(naming->stacks->ends));
    calls->stacks = calloc(node_count, sizeof(*calls->stacks));
    calls->ends = calloc(node_count, sizeof(*calls->ends));
    calls->images = malloc((count + 1) * sizeof(*calls->images));
    complete = calls->stacks != NULL && calls->ends != NULL && calls->images != NULL;
    if (complete) {
        memset(calls->images, 0xff, count * sizeof(*calls->images));
        calls->image_count = count;
    }
    complete = complete && find_places(&work) && name_calls(&work) && add_calls(&work);
    free(work.calls);
    free(work.places);
    free(work.order);
    return complete;
}

/* --- rows --- */

/* Add hits with one stack. Returns false if memory runs out. */
static bool
add_hits(struct naming *naming, struct profile *profile, struct profile_place *place,
         uint32_t stack, enum stack_end end, uint64_t hits)
{
    place->stack = stack;
    naming->stacks->ends[end] += hits;
    return profile_add_hits_at(profile, place, naming->stacks->source, hits);
}

bool
naming_add_hits(struct naming *naming, struct profile *profile,
                struct profile_place *place, size_t image, const struct count *count)
{
    struct naming_stacks *const stacks = naming->stacks;
    struct stack_place counted = {.address = count->place};
    const struct stack_row *rows = NULL;
    size_t row_count = 0;
    uint64_t left = count->hits;
    bool complete = true;

    if (stacks == NULL || count->source != stacks->source) {
        return profile_add_hits_at(profile, place, count->source, count->hits);
    }
    if (callers_owner((uint32_t)image, count->program, count->thread, &counted.owner)) {
        rows = callers_cut_rows(stacks->cut, &counted, &row_count);
    }
    for (size_t i = 0; complete && i < row_count; i++) {
        const uint32_t node = rows[i].node;
        /* Callers are counted after the hit, and both are of the same moment; there are
         * more callers only if an earlier snapshot ran out of memory. */
        const uint64_t hits = rows[i].hits < left ? rows[i].hits : left;

        left -= hits;
        complete = add_hits(naming, profile, place, naming->calls.stacks[node],
                            naming->calls.ends[node], hits);
    }
    return complete &&
           (left == 0 || add_hits(naming, profile, place, naming->calls.not_recorded,
                                  STACK_NOT_RECORDED, left));
}
