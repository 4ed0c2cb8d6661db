/* SPDX-License-Identifier: MIT */
/*
 * flame.c - the tree that a flame graph shows.
 *
 * Invariant: a node's parent comes before it, and the root is its own.
 */
#include "view/export/flame.h"

#include "base/arithmetic.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define NONE HASH_INDEX_NONE

/* --- adding --- */

/* Find or add a function. Returns NONE if memory runs out. */
static uint32_t
find_frame(struct flame_frames *frames, const struct flame_function *function)
{
    const char *const image = function->image;
    const uint32_t hash = hash_mix(0, function->number);
    struct flame_frame frame = {.number = function->number};
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(&frames->index, hash, &probe)) != NONE) {
        if (frames->items[at].number == function->number) {
            return at;
        }
    }
    frame.name = string_set_add(&frames->names, function->name, strlen(function->name));
    frame.full = string_set_add(&frames->names, function->full, strlen(function->full));
    if (image != NULL) {
        frame.image_plus_1 = string_set_add(&frames->images, image, strlen(image)) + 1;
    }
    if (frame.name == NONE || frame.full == NONE ||
        (image != NULL && frame.image_plus_1 == 0)) {
        return NONE;
    }
    if (!array_reserve((void **)&frames->items, frames->count, &frames->room,
                       sizeof(*frames->items), FLAME_REST) ||
        !hash_index_add(&frames->index, hash, (uint32_t)frames->count)) {
        return NONE;
    }
    frames->items[frames->count] = frame;
    return (uint32_t)frames->count++;
}

/* Find or add the node of a function below parent. Returns NONE if memory runs out. */
static uint32_t
find_node(struct flame *flame, uint32_t parent, uint32_t frame)
{
    const uint32_t hash = hash_mix(0, (uint64_t)parent << 32 | frame);
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(&flame->index, hash, &probe)) != NONE) {
        if (flame->nodes[at].parent == parent && flame->nodes[at].frame == frame) {
            return at;
        }
    }
    if (!array_reserve((void **)&flame->nodes, flame->count, &flame->room,
                       sizeof(*flame->nodes), FLAME_REST) ||
        !hash_index_add(&flame->index, hash, (uint32_t)flame->count)) {
        return NONE;
    }
    flame->nodes[flame->count] = (struct flame_node){.parent = parent, .frame = frame};
    return (uint32_t)flame->count++;
}

bool
flame_begin(struct flame *flame, struct flame_frames *frames)
{
    *flame = (struct flame){.frames = frames};
    return find_node(flame, 0, FLAME_ALL) != NONE;
}

bool
flame_add(struct flame *flame, uint32_t parent, const struct flame_function *function,
          enum flame_side side, uint64_t hits, uint32_t *node)
{
    const uint32_t frame = find_frame(flame->frames, function);
    const uint32_t found = frame != NONE ? find_node(flame, parent, frame) : NONE;

    if (found == NONE) {
        return false;
    }
    add_clamped(&flame->nodes[found].self[side], hits);
    *node = found;
    return true;
}

/* --- sorting --- */

static void
sum_up(struct flame *flame)
{
    for (size_t i = 0; i < flame->count; i++) {
        memcpy(flame->nodes[i].total, flame->nodes[i].self,
               sizeof(flame->nodes[i].self));
    }
    for (size_t i = flame->count; i > 1; i--) {
        const struct flame_node *const node = &flame->nodes[i - 1];

        for (int side = 0; side < FLAME_SIDES; side++) {
            add_clamped(&flame->nodes[node->parent].total[side], node->total[side]);
        }
    }
}

/* Whether a node has enough hits of either side to be shown by itself. */
static bool
is_large(const struct flame *flame, const struct flame_node *node)
{
    for (int side = 0; side < FLAME_SIDES; side++) {
        const uint64_t all = flame->nodes[0].total[side];

        if (all > 0 && (double)node->total[side] >= (double)all * FLAME_SHARE_LEAST) {
            return true;
        }
    }
    return false;
}

/* Add a node of another tree below parent: as it is, or to the small ones. Returns its
 * number, or NONE if memory runs out. */
static uint32_t
keep_node(struct flame *kept, uint32_t parent, const struct flame_node *node,
          bool large)
{
    const uint32_t at = find_node(kept, parent, large ? node->frame : FLAME_REST);

    if (at != NONE) {
        struct flame_node *const into = &kept->nodes[at];

        for (int side = 0; side < FLAME_SIDES; side++) {
            add_clamped(&into->self[side],
                        large ? node->self[side] : node->total[side]);
            add_clamped(&into->total[side], node->total[side]);
        }
        into->rest += !large;
    }
    return at;
}

/*
 * Make a tree whose small nodes are one of FLAME_REST for each caller.
 *
 *   numbers  by node: room for its number there; NONE if it is not there
 */
static bool
keep_large(const struct flame *flame, struct flame *kept, uint32_t *numbers)
{
    numbers[0] = 0;
    for (size_t i = 1; i < flame->count; i++) {
        const struct flame_node *const node = &flame->nodes[i];
        const bool large = is_large(flame, node);
        uint32_t at = NONE;

        if (numbers[node->parent] != NONE) {
            at = keep_node(kept, numbers[node->parent], node, large);
            if (at == NONE) {
                return false;
            }
        }
        numbers[i] = large ? at : NONE;
    }
    return true;
}

/* Replace the small nodes by one for each caller. Returns false if memory runs out. */
static bool
sum_small(struct flame *flame)
{
    uint32_t *const numbers = calloc(flame->count, sizeof(*numbers));
    struct flame kept;
    const bool begun = flame_begin(&kept, flame->frames);

    if (!begun || numbers == NULL || !keep_large(flame, &kept, numbers)) {
        free(numbers);
        flame_finish(&kept);
        return false;
    }
    memcpy(kept.nodes[0].self, flame->nodes[0].self, sizeof(kept.nodes[0].self));
    memcpy(kept.nodes[0].total, flame->nodes[0].total, sizeof(kept.nodes[0].total));
    free(numbers);
    flame_finish(flame);
    *flame = kept;
    return true;
}

/* By caller; then those with the most hits first, small ones last. */
static int
compare_nodes(const void *left, const void *right, void *context)
{
    const struct flame *const flame = context;
    const struct flame_node *const a = &flame->nodes[*(const uint32_t *)left];
    const struct flame_node *const b = &flame->nodes[*(const uint32_t *)right];
    int order = compare_numbers(a->parent, b->parent);

    if (order == 0) {
        order = (a->frame == FLAME_REST) - (b->frame == FLAME_REST);
    }
    for (int side = 0; order == 0 && side < FLAME_SIDES; side++) {
        order = compare_numbers(b->total[side], a->total[side]);
    }
    return order != 0 ? order : compare_numbers(a->frame, b->frame);
}

/*
 * Put nodes into pre-order.
 *
 *   order    all but the root, by caller
 *   starts   by node: where those that it called begin in order
 *   waiting  room for all nodes
 */
static void
put_in_order(const struct flame *flame, const uint32_t *order, const uint32_t *starts,
             uint32_t *waiting, struct flame_node *nodes)
{
    size_t left = 1;

    waiting[0] = 0;
    for (uint32_t at = 0; left > 0; at++) {
        const uint32_t node = waiting[--left];

        nodes[at] = flame->nodes[node]; /* with its caller's new number: see below */
        for (uint32_t i = starts[node + 1]; i > starts[node]; i--) {
            flame->nodes[order[i - 1]].parent = at;
            waiting[left++] = order[i - 1];
        }
    }
}

static void
find_starts(const struct flame *flame, uint32_t *starts)
{
    for (size_t i = 1; i < flame->count; i++) {
        starts[flame->nodes[i].parent + 1]++;
    }
    for (size_t i = 0; i < flame->count; i++) {
        starts[i + 1] += starts[i];
    }
}

bool
flame_sort(struct flame *flame)
{
    struct flame_node *nodes;
    uint32_t *order, *starts, *waiting;
    bool done;

    sum_up(flame);
    if (!sum_small(flame)) {
        return false;
    }
    nodes = calloc(flame->count, sizeof(*nodes));
    order = calloc(flame->count, sizeof(*order));
    starts = calloc(flame->count + 1, sizeof(*starts));
    waiting = calloc(flame->count, sizeof(*waiting));
    done = nodes != NULL && order != NULL && starts != NULL && waiting != NULL;
    if (done) {
        for (uint32_t i = 1; i < flame->count; i++) {
            order[i - 1] = i;
        }
        qsort_r(order, flame->count - 1, sizeof(*order), compare_nodes, flame);
        find_starts(flame, starts);
        put_in_order(flame, order, starts, waiting, nodes);
        free(flame->nodes);
        flame->nodes = nodes;
        flame->room = flame->count;
        nodes = NULL;
        hash_index_finish(&flame->index); /* numbers have changed */
    }
    free(nodes);
    free(order);
    free(starts);
    free(waiting);
    return done;
}

void
flame_finish(struct flame *flame)
{
    free(flame->nodes);
    hash_index_finish(&flame->index);
    *flame = (struct flame){.frames = NULL};
}

void
flame_frames_finish(struct flame_frames *frames)
{
    string_set_finish(&frames->names);
    string_set_finish(&frames->images);
    free(frames->items);
    hash_index_finish(&frames->index);
    *frames = (struct flame_frames){.count = 0};
}
