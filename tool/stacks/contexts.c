/* SPDX-License-Identifier: MIT */
/*
 * contexts.c - nodes and rows in two arrays. Rows are found by a hash; a node is found
 * from its caller, as its child, or by a hash if that has several: below the branches
 * of a tree there are mostly calls that have one child.
 *
 * Invariants:
 *   - a node's caller has a lower number; node 0 is the end STACK_OTHER, and stays
 *   - uses of a node are the rows that have it and the nodes that it is the caller of;
 *     all but node 0 have some
 *   - no two nodes have the same address, image and caller; no two rows have the same
 *     place and node
 *   - a node is its caller's child, or in the index: ends, and callees of nodes that
 *     have another child
 *   - at most bound nodes, and at most bound rows with other nodes than 0
 */
#include "stacks/contexts.h"

#include "base/hash_index.h"

#include <assert.h>
#include <stdlib.h>

/* node - and what keeps it. */
struct node {
    struct stack_node is;
    uint32_t uses;
    uint32_t moved; /* where it is now, while nodes move */
    uint32_t child; /* a node that it is the caller of; 0: there is none */
};

struct stack_contexts {
    size_t bound;
    struct node *nodes;
    size_t node_count;
    size_t node_room;
    struct hash_index node_index;
    struct stack_row *rows;
    size_t row_count;
    size_t row_room;
    size_t other_count; /* of rows */
    struct hash_index row_index;
};

/* --- nodes --- */

static uint32_t
hash_node(const struct stack_node *node)
{
    return hash_mix(hash_mix(0, node->address),
                    (uint64_t)node->image << 32 | node->caller);
}

static bool
is_node(const struct stack_contexts *contexts, uint32_t number,
        const struct stack_node *wanted)
{
    const struct stack_node *const node = &contexts->nodes[number].is;

    return node->address == wanted->address && node->image == wanted->image &&
           node->caller == wanted->caller;
}

static uint32_t
find_node(const struct stack_contexts *contexts, const struct stack_node *wanted)
{
    size_t probe = 0;
    uint32_t hash;
    uint32_t found;

    if (wanted->caller != STACK_NO_NODE) {
        const uint32_t child = contexts->nodes[wanted->caller].child;

        if (child == 0 || is_node(contexts, child, wanted)) {
            return child != 0 ? child : STACK_NO_NODE;
        }
    }
    hash = hash_node(wanted);
    while ((found = hash_index_find(&contexts->node_index, hash, &probe)) !=
           HASH_INDEX_NONE) {
        if (is_node(contexts, found, wanted)) {
            return found;
        }
    }
    return STACK_NO_NODE;
}

/* Make a new node findable: as its caller's child or, if there is one, by the index.
 * Returns false if memory runs out. */
static bool
link_node(struct stack_contexts *contexts, const struct stack_node *node,
          uint32_t number)
{
    if (node->caller == STACK_NO_NODE || contexts->nodes[node->caller].child != 0) {
        return hash_index_add(&contexts->node_index, hash_node(node), number);
    }
    contexts->nodes[node->caller].child = number;
    return true;
}

/* Makes room for more items of an array that may move. */
static bool
make_room(void **items, size_t count, size_t more, size_t *room, size_t item_bytes)
{
    size_t larger = *room;
    void *moved;

    while (larger < count + more) {
        larger = larger == 0 ? STACK_CONTEXTS_MIN : 2 * larger;
    }
    if (larger == *room) {
        return true;
    }
    moved = reallocarray(*items, larger, item_bytes);
    if (moved == NULL) {
        return false;
    }
    *items = moved;
    *room = larger;
    return true;
}

/* Add a node that is not there. It has no use yet: the caller adds one. Returns false
 * if memory runs out; then nothing has changed. */
static bool
add_node(struct stack_contexts *contexts, const struct stack_node *node)
{
    void *nodes = contexts->nodes;

    if (!make_room(&nodes, contexts->node_count, 1, &contexts->node_room,
                   sizeof(struct node))) {
        return false;
    }
    contexts->nodes = nodes;
    if (!link_node(contexts, node, (uint32_t)contexts->node_count)) {
        return false;
    }
    contexts->nodes[contexts->node_count++] = (struct node){.is = *node};
    if (node->caller != STACK_NO_NODE) {
        contexts->nodes[node->caller].uses++;
    }
    return true;
}

/* --- rows --- */

static uint32_t
hash_row(const struct stack_row *row)
{
    return hash_mix(hash_mix(hash_mix(0, row->place.address), row->place.owner),
                    row->node);
}

/* The row of a place and node; NULL: there is none. */
static struct stack_row *
find_row(struct stack_contexts *contexts, const struct stack_row *wanted)
{
    const uint32_t hash = hash_row(wanted);
    size_t probe = 0;
    uint32_t found;

    while ((found = hash_index_find(&contexts->row_index, hash, &probe)) !=
           HASH_INDEX_NONE) {
        struct stack_row *const row = &contexts->rows[found];

        if (row->place.address == wanted->place.address &&
            row->place.owner == wanted->place.owner && row->node == wanted->node) {
            return row;
        }
    }
    return NULL;
}

/* False: out of memory. */
static bool
add_row(struct stack_contexts *contexts, const struct stack_row *row)
{
    void *rows = contexts->rows;

    if (!make_room(&rows, contexts->row_count, 1, &contexts->row_room, sizeof(*row))) {
        return false;
    }
    contexts->rows = rows;
    if (!hash_index_add(&contexts->row_index, hash_row(row),
                        (uint32_t)contexts->row_count)) {
        return false;
    }
    contexts->rows[contexts->row_count++] = *row;
    contexts->nodes[row->node].uses++;
    contexts->other_count += row->node == STACK_NODE_OTHER;
    return true;
}

/* --- giving callers up --- */

/* Those with the fewest hits first, of STACK_OTHER last. */
static int
compare_rows(const void *left, const void *right)
{
    const struct stack_row *const a = left;
    const struct stack_row *const b = right;
    const bool a_is_other = a->node == STACK_NODE_OTHER;
    const bool b_is_other = b->node == STACK_NODE_OTHER;

    if (a_is_other != b_is_other) {
        return a_is_other - b_is_other;
    }
    if (a->hits != b->hits) {
        return a->hits < b->hits ? -1 : 1;
    }
    if (a->place.address != b->place.address) {
        return a->place.address < b->place.address ? -1 : 1;
    }
    if (a->place.owner != b->place.owner) {
        return a->place.owner < b->place.owner ? -1 : 1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

/* A use of a node ends. Gives how many nodes have no use any more by that. */
static size_t
release_node(struct stack_contexts *contexts, uint32_t number)
{
    size_t unused = 0;

    while (number != STACK_NO_NODE && --contexts->nodes[number].uses == 0 &&
           number != STACK_NODE_OTHER) {
        unused++;
        number = contexts->nodes[number].is.caller;
    }
    return unused;
}

/* Removes nodes without use. Rows still have the old numbers: moved says the new one.
 * The index gets no more nodes than it had, since each caller keeps a child. */
static void
compact_nodes(struct stack_contexts *contexts)
{
    size_t kept = 0;

    hash_index_clear(&contexts->node_index);
    for (size_t i = 0; i < contexts->node_count; i++) {
        struct node *const node = &contexts->nodes[i];
        struct node *const to = &contexts->nodes[kept];

        if (node->uses == 0 && i != STACK_NODE_OTHER) {
            continue;
        }
        if (node->is.caller != STACK_NO_NODE) {
            node->is.caller = contexts->nodes[node->is.caller].moved;
        }
        node->moved = (uint32_t)kept;
        to->is = node->is; /* but for moved, of the node that was there */
        to->uses = node->uses;
        to->child = 0;
        (void)link_node(contexts, &to->is, (uint32_t)kept++);
    }
    contexts->node_count = kept;
}

/* Gives rows their new nodes, and makes one of those with the same place and node. */
static void
compact_rows(struct stack_contexts *contexts)
{
    const size_t count = contexts->row_count;

    hash_index_clear(&contexts->row_index);
    contexts->row_count = 0;
    contexts->other_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct stack_row row = contexts->rows[i];
        struct stack_row *same;

        row.node = contexts->nodes[row.node].moved;
        same = find_row(contexts, &row);
        if (same != NULL) {
            assert(row.node == STACK_NODE_OTHER);
            same->hits += row.hits;
            same->taken += row.taken;
            contexts->nodes[STACK_NODE_OTHER].uses--;
            continue;
        }
        (void)hash_index_add(&contexts->row_index, hash_row(&row),
                             (uint32_t)contexts->row_count);
        contexts->other_count += row.node == STACK_NODE_OTHER;
        contexts->rows[contexts->row_count++] = row;
    }
}

/* Rows give their callers up until a quarter of the bound is free for rows, and for
 * nodes a quarter or wanted_nodes, whichever is more. Indexes have room for all that
 * was there: no memory is needed. */
static void
give_up_callers(struct stack_contexts *contexts, size_t wanted_nodes)
{
    const size_t quarter = contexts->bound / 4;
    const size_t nodes_max =
        contexts->bound - (wanted_nodes > quarter ? wanted_nodes : quarter);
    size_t nodes = contexts->node_count;
    size_t rows = stack_contexts_count(contexts);

    qsort(contexts->rows, contexts->row_count, sizeof(*contexts->rows), compare_rows);
    for (size_t i = 0;
         rows > 0 && (rows > contexts->bound - quarter || nodes > nodes_max); i++) {
        nodes -= release_node(contexts, contexts->rows[i].node);
        contexts->rows[i].node = STACK_NODE_OTHER;
        contexts->nodes[STACK_NODE_OTHER].uses++;
        rows--;
    }
    compact_nodes(contexts);
    compact_rows(contexts);
}

/* --- adding --- */

/* path - of callers, from the end inwards. */
struct path {
    const struct stack_frame *frames;
    size_t count;
    struct stack_node end;
};

/* The node of a path at a depth, of which 0 is the end, with that caller. */
static struct stack_node
path_node(const struct path *path, size_t depth, uint32_t caller)
{
    const struct stack_frame *frame;

    if (depth == 0) {
        return path->end;
    }
    frame = &path->frames[path->count - depth];
    return (struct stack_node){frame->address, frame->image, caller};
}

/* The innermost node that is there; *missing is how many are not. */
static uint32_t
follow_path(const struct stack_contexts *contexts, const struct path *path,
            size_t *missing)
{
    uint32_t innermost = STACK_NO_NODE;
    size_t depth = 0;

    for (; depth <= path->count; depth++) {
        const struct stack_node node = path_node(path, depth, innermost);
        const uint32_t found = find_node(contexts, &node);

        if (found == STACK_NO_NODE) {
            break;
        }
        innermost = found;
    }
    *missing = path->count + 1 - depth;
    return innermost;
}

/* Add the missing nodes of a path, and a row of the innermost one. row: in: its node is
 * the innermost that is there; out: that of the path. Returns false if memory runs out;
 * nodes that were added are gone again. */
static bool
add_path(struct stack_contexts *contexts, const struct path *path, size_t missing,
         struct stack_row *row)
{
    bool added = true;

    for (size_t left = missing; left > 0 && added; left--) {
        const struct stack_node node =
            path_node(path, path->count + 1 - left, row->node);

        added = add_node(contexts, &node);
        row->node = added ? (uint32_t)contexts->node_count - 1 : row->node;
    }
    if (added && add_row(contexts, row)) {
        return true;
    }
    /* Without a use the innermost one and all that only it uses go. */
    if (row->node != STACK_NO_NODE && contexts->nodes[row->node].uses == 0) {
        contexts->nodes[row->node].uses = 1;
        (void)release_node(contexts, row->node);
        compact_nodes(contexts);
        compact_rows(contexts);
    }
    return false;
}

static bool
has_room(const struct stack_contexts *contexts, size_t missing)
{
    return contexts->bound - contexts->node_count >= missing &&
           stack_contexts_count(contexts) < contexts->bound;
}

bool
stack_contexts_add(struct stack_contexts *contexts, const struct stack_row *added,
                   const struct stack_frame *frames, size_t count, enum stack_end end,
                   uint32_t image)
{
    struct path path = {frames, count, {(uint64_t)end, image, STACK_NO_NODE}};
    struct stack_row row = *added;
    struct stack_row *same;
    size_t missing;

    assert(added->taken <= added->hits);
    assert(count <= STACK_FRAMES_MAX && (end != STACK_OTHER || count == 0));
    /* A stack that would take more than half of all nodes is not kept. */
    if (end == STACK_OTHER || count + 1 > contexts->bound / 2) {
        path = (struct path){NULL, 0, contexts->nodes[STACK_NODE_OTHER].is};
    }
    row.node = follow_path(contexts, &path, &missing);
    same = missing == 0 ? find_row(contexts, &row) : NULL;
    if (same != NULL) {
        same->hits += row.hits;
        same->taken += row.taken;
        return true;
    }
    if (row.node != STACK_NODE_OTHER && !has_room(contexts, missing)) {
        give_up_callers(contexts, path.count + 1);
        row.node = follow_path(contexts, &path, &missing);
    }
    return add_path(contexts, &path, missing, &row);
}

void
stack_contexts_take(struct stack_contexts *contexts)
{
    for (size_t i = 0; i < contexts->row_count; i++) {
        contexts->rows[i].taken = contexts->rows[i].hits;
    }
}

/* --- the table --- */

struct stack_contexts *
stack_contexts_create(size_t bound)
{
    const struct stack_node other = {STACK_OTHER, STACK_NO_IMAGE, STACK_NO_NODE};
    struct stack_contexts *const contexts = calloc(1, sizeof(*contexts));

    assert(bound >= STACK_CONTEXTS_MIN && bound < STACK_NO_NODE);
    if (contexts == NULL) {
        return NULL;
    }
    contexts->bound = bound;
    if (!add_node(contexts, &other)) {
        stack_contexts_delete(contexts);
        return NULL;
    }
    return contexts;
}

void
stack_contexts_delete(struct stack_contexts *contexts)
{
    if (contexts == NULL) {
        return;
    }
    hash_index_finish(&contexts->node_index);
    hash_index_finish(&contexts->row_index);
    free(contexts->nodes);
    free(contexts->rows);
    free(contexts);
}

const struct stack_row *
stack_contexts_rows(const struct stack_contexts *contexts, size_t *count)
{
    *count = contexts->row_count;
    return contexts->rows;
}

size_t
stack_contexts_count(const struct stack_contexts *contexts)
{
    return contexts->row_count - contexts->other_count;
}

size_t
stack_contexts_used(const struct stack_contexts *contexts)
{
    const size_t rows = stack_contexts_count(contexts);
    const size_t nodes = contexts->node_count - 1; /* node 0 is always there */

    return rows > nodes ? rows : nodes;
}

struct stack_node
stack_contexts_node(const struct stack_contexts *contexts, uint32_t number)
{
    assert(number < contexts->node_count);
    return contexts->nodes[number].is;
}

size_t
stack_contexts_node_count(const struct stack_contexts *contexts)
{
    return contexts->node_count;
}
