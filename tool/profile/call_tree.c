/* SPDX-License-Identifier: MIT */
/*
 * call_tree.c - stacks as a tree.
 *
 * The functions of each row become a path, the paths are sorted, and equal beginnings
 * of neighbours are one node. A node is complete when a path leaves it: if it has too
 * few hits, it and all behind it are removed again, so that the memory is that of the
 * paths and of the nodes that stay. At last children are put in order.
 */
#include "profile/call_tree.h"

#include "profile/stack_walk.h"

#include "base/array.h"
#include "base/buffer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* path - the functions of a row in the direction of the tree. */
struct path {
    size_t start; /* of its numbers in builder.numbers */
    size_t length;
    uint64_t hits;
};

struct builder {
    const struct profile *profile;
    const struct identities *identities;
    const struct call_tree_options *options;
    struct call_tree *tree;
    struct buffer numbers; /* uint32_t: of all paths */
    struct path *paths;
    size_t path_count;
    size_t room;        /* of tree->nodes */
    double minimum;     /* hits of nodes that are not merged */
    struct buffer open; /* uint32_t: nodes from the root to the one at hand */
};

static const uint32_t *
numbers_of(const struct builder *builder, const struct path *path)
{
    return (const uint32_t *)(const void *)builder->numbers.data + path->start;
}

/* --- paths --- */

/* Append all functions of a row, innermost first. Returns how many there are up to the
 * outermost chosen one, and with it; SIZE_MAX if none on the stack is chosen. If the
 * tree chooses none, returns how many there are. */
static size_t
append_functions(struct builder *builder, const struct profile_row *row)
{
    const bool *const chosen = builder->options->chosen;
    const bool *const skipped = builder->options->skipped;
    struct stack_walk walk = stack_walk_start(builder->profile, builder->identities,
                                              row, builder->options->inlined);
    size_t count = 0;
    size_t found = SIZE_MAX;

    while (stack_walk_next(&walk)) {
        const bool is_chosen = chosen != NULL && chosen[walk.number];

        if (skipped != NULL && skipped[walk.number] && !is_chosen) {
            continue;
        }
        buffer_append(&builder->numbers, &walk.number, sizeof(walk.number));
        count++;
        found = is_chosen ? count : found;
    }
    return chosen != NULL ? found : count;
}

static void
reverse(uint32_t *numbers, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        const uint32_t number = numbers[i];

        numbers[i] = numbers[count - 1 - i];
        numbers[count - 1 - i] = number;
    }
}

/* Add the path of a row, unless it has no chosen function. Upwards it leads from the
 * chosen or innermost function to the outermost. Downwards it leads from the chosen or
 * outermost function to the innermost. */
static void
add_path(struct builder *builder, const struct profile_row *row)
{
    const bool up = builder->options->direction == CALL_TREE_UP;
    const size_t start = builder->numbers.size / sizeof(uint32_t);
    const size_t inner = append_functions(builder, row);
    const size_t limit = builder->numbers.size / sizeof(uint32_t);
    struct path path = {.start = start, .hits = row->hits[builder->options->source]};

    if (inner == SIZE_MAX || builder->numbers.failed) {
        builder->numbers.size = start * sizeof(uint32_t);
        return;
    }
    if (up && builder->options->chosen != NULL) {
        path.start += inner - 1;
    }
    path.length = up ? limit - path.start : inner;
    if (!up) {
        reverse((uint32_t *)(void *)builder->numbers.data + start, path.length);
        builder->numbers.size = (start + path.length) * sizeof(uint32_t);
    }
    builder->paths[builder->path_count++] = path;
}

/* Make the paths of all rows with hits. Returns false if memory runs out. */
static bool
make_paths(struct builder *builder)
{
    const struct profile *const profile = builder->profile;
    const size_t source = builder->options->source;

    builder->paths = calloc(profile->row_count + 1, sizeof(*builder->paths));
    if (builder->paths == NULL) {
        return false;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        builder->tree->hits += profile->rows[i].hits[source];
        if (profile->rows[i].hits[source] > 0 &&
            (builder->options->rows == NULL || builder->options->rows[i])) {
            add_path(builder, &profile->rows[i]);
        }
    }
    return !builder->numbers.failed;
}

static int
compare_paths(const void *left, const void *right, void *context)
{
    const struct path *const a = left;
    const struct path *const b = right;
    const uint32_t *const x = numbers_of(context, a);
    const uint32_t *const y = numbers_of(context, b);

    for (size_t i = 0; i < a->length && i < b->length; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return (a->length > b->length) - (a->length < b->length);
}

/* --- nodes --- */

static struct call_tree_node *
open_node(const struct builder *builder, size_t depth)
{
    const uint32_t *const open = (const uint32_t *)(const void *)builder->open.data;

    return &builder->tree->nodes[open[depth]];
}

/* Close all open nodes below a depth, innermost first. Those with too few hits are
 * removed with all behind them, which are those below them. */
static void
close_nodes(struct builder *builder, size_t depth)
{
    struct call_tree *const tree = builder->tree;

    for (size_t at = builder->open.size / sizeof(uint32_t) - 1; at > depth; at--) {
        const struct call_tree_node *const node = open_node(builder, at);
        struct call_tree_node *const parent = open_node(builder, at - 1);

        parent->total += node->total;
        if ((double)node->total < builder->minimum) {
            tree->count = (size_t)(node - tree->nodes);
            parent->merged++;
            parent->merged_hits += node->total;
        }
    }
    builder->open.size = (depth + 1) * sizeof(uint32_t);
}

/* Return the length of the beginning that a path shares with the open nodes. */
static size_t
shared_depth(const struct builder *builder, const struct path *path)
{
    const size_t depth = builder->open.size / sizeof(uint32_t) - 1;
    size_t shared = 0;

    while (shared < depth && shared < path->length &&
           open_node(builder, shared + 1)->number ==
               numbers_of(builder, path)[shared]) {
        shared++;
    }
    return shared;
}

/* Append a node and open it. Returns false if memory runs out. */
static bool
add_node(struct builder *builder, uint32_t parent, uint32_t number)
{
    struct call_tree *const tree = builder->tree;
    const uint32_t index = (uint32_t)tree->count;
    struct call_tree_node node = {.number = number, .parent = parent};

    if (!array_reserve((void **)&tree->nodes, tree->count, &builder->room,
                       sizeof(*tree->nodes), UINT32_MAX)) {
        return false;
    }
    if (number != IDENTITY_NONE) {
        node.function = identity_function(builder->identities, number, &node.image);
        node.depth = tree->nodes[parent].depth + 1;
    }
    tree->nodes[tree->count++] = node;
    buffer_append(&builder->open, &index, sizeof(index));
    return !builder->open.failed;
}

/* Add the nodes of all paths, which are sorted. Returns false if memory runs out. */
static bool
add_nodes(struct builder *builder)
{
    bool done = add_node(builder, 0, IDENTITY_NONE);

    for (size_t i = 0; done && i < builder->path_count; i++) {
        const struct path *const path = &builder->paths[i];
        size_t depth = shared_depth(builder, path);

        close_nodes(builder, depth);
        for (; done && depth < path->length; depth++) {
            const uint32_t parent =
                (uint32_t)(open_node(builder, depth) - builder->tree->nodes);

            done = add_node(builder, parent, numbers_of(builder, path)[depth]);
        }
        if (done) {
            open_node(builder, depth)->self += path->hits;
            open_node(builder, depth)->total += path->hits;
        }
    }
    if (done) {
        close_nodes(builder, 0);
    }
    return done;
}

/* --- order --- */

/* Order by parent, then as children are. */
static int
compare_nodes(const void *left, const void *right, void *context)
{
    const struct call_tree_node *const nodes = context;
    const struct call_tree_node *const a = &nodes[*(const uint32_t *)left];
    const struct call_tree_node *const b = &nodes[*(const uint32_t *)right];
    int order;

    if (a->parent != b->parent) {
        return a->parent < b->parent ? -1 : 1;
    }
    if (a->total != b->total) {
        return a->total > b->total ? -1 : 1;
    }
    order = strcmp(a->function->name, b->function->name);
    if (order == 0) {
        order = strcmp(a->image->path, b->image->path);
    }
    return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

/* placing - the nodes on their way to their places. */
struct placing {
    const struct call_tree_node *from;
    struct call_tree_node *to;
    size_t count; /* placed */
    /* Indices of all nodes but the root, those of a parent together, and by node the
     * first of its children there. The last node has none. */
    uint32_t *children;
    size_t *first;
    uint32_t *waiting; /* stack of nodes to be placed */
    uint32_t *parents; /* by node that waits: where its parent is */
};

/* Find the children of each node in their order. */
static void
order_children(struct placing *placing, struct call_tree *tree)
{
    size_t next = 0;

    for (size_t i = 1; i < tree->count; i++) {
        placing->children[i - 1] = (uint32_t)i;
    }
    qsort_r(placing->children, tree->count - 1, sizeof(*placing->children),
            compare_nodes, tree->nodes);
    for (size_t i = 0; i <= tree->count; i++) {
        while (next < tree->count - 1 &&
               tree->nodes[placing->children[next]].parent < i) {
            next++;
        }
        placing->first[i] = next;
    }
}

/* Place all nodes: a node is followed by those below it. */
static void
place_nodes(struct placing *placing)
{
    size_t waiting = 1;

    placing->waiting[0] = 0;
    while (waiting > 0) {
        const uint32_t from = placing->waiting[--waiting];
        const uint32_t at = (uint32_t)placing->count++;

        placing->to[at] = placing->from[from];
        placing->to[at].parent = placing->parents[from];
        for (size_t i = placing->first[from + 1]; i-- > placing->first[from];) {
            placing->parents[placing->children[i]] = at;
            placing->waiting[waiting++] = placing->children[i];
        }
    }
}

/* Put all nodes into their order. Returns false if memory runs out. */
static bool
put_in_order(struct call_tree *tree)
{
    struct placing placing = {
        .from = tree->nodes,
        .to = calloc(tree->count, sizeof(*placing.to)),
        .children = calloc(tree->count, sizeof(*placing.children)),
        .first = calloc(tree->count + 1, sizeof(*placing.first)),
        .waiting = calloc(tree->count, sizeof(*placing.waiting)),
        .parents = calloc(tree->count, sizeof(*placing.parents)),
    };
    const bool done = placing.to != NULL && placing.children != NULL &&
                      placing.first != NULL && placing.waiting != NULL &&
                      placing.parents != NULL;

    if (done) {
        order_children(&placing, tree);
        place_nodes(&placing);
        free(tree->nodes);
        tree->nodes = placing.to;
    } else {
        free(placing.to);
    }
    free(placing.children);
    free(placing.first);
    free(placing.waiting);
    free(placing.parents);
    return done;
}

/* --- the whole tree --- */

bool
call_tree_build(struct call_tree *tree, const struct profile *profile,
                const struct identities *identities,
                const struct call_tree_options *options)
{
    struct builder builder = {
        .profile = profile, .identities = identities, .options = options, .tree = tree};
    bool done;

    assert(profile_has_stacks(profile));
    *tree = (struct call_tree){0};
    done = make_paths(&builder);
    if (done) {
        builder.minimum = options->minimum * (double)tree->hits;
        qsort_r(builder.paths, builder.path_count, sizeof(*builder.paths),
                compare_paths, &builder);
        done = add_nodes(&builder) && put_in_order(tree);
    }
    free(builder.paths);
    buffer_finish(&builder.numbers);
    buffer_finish(&builder.open);
    return done;
}

void
call_tree_finish(struct call_tree *tree)
{
    free(tree->nodes);
    *tree = (struct call_tree){0};
}

bool
call_tree_sums(const struct profile *profile, const struct identities *identities,
               size_t source, bool inlined, uint64_t *self, uint64_t *total)
{
    /* By number: the row that was added last, plus 1. */
    size_t *const added = calloc(identities->count + 1, sizeof(*added));
    const bool done = added != NULL;

    assert(profile_has_stacks(profile));
    for (size_t i = 0; done && i < profile->row_count; i++) {
        const uint64_t hits = profile->rows[i].hits[source];
        struct stack_walk walk =
            stack_walk_start(profile, identities, &profile->rows[i], inlined);

        self[inlined ? identities->inner[i] : identities->outer[i]] += hits;
        while (hits > 0 && stack_walk_next(&walk)) {
            if (added[walk.number] != i + 1) {
                added[walk.number] = i + 1;
                total[walk.number] += hits;
            }
        }
    }
    free(added);
    return done;
}
