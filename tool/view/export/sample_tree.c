/* SPDX-License-Identifier: MIT */
/* sample_tree.c - enters calls and counts, then sorts functions by their total, most
 * first, and the children of a node by the place of their call and by name. */
#include "view/export/sample_tree.h"

#include "base/arithmetic.h"

#include <stdlib.h>
#include <string.h>

/* Return a number by which locations are compared. */
static uint64_t
location_key(struct sample_location at)
{
    return (uint64_t)at.line << 32 | at.discriminator;
}

uint32_t
sample_tree_enter(struct sample_tree *tree, uint32_t parent,
                  struct sample_location call, const char *name)
{
    const uint32_t text = string_set_add(&tree->names, name, strlen(name));
    const uint32_t hash =
        hash_mix(hash_mix(hash_mix(0, parent), location_key(call)), text);
    struct sample_node *larger;
    size_t probe = 0;
    uint32_t found;

    if (text == HASH_INDEX_NONE) {
        return SAMPLE_TREE_NONE;
    }
    while ((found = hash_index_find(&tree->node_index, hash, &probe)) !=
           HASH_INDEX_NONE) {
        const struct sample_node *const node = &tree->nodes[found];

        if (node->parent == parent && node->name == text &&
            location_key(node->call) == location_key(call)) {
            return found;
        }
    }
    larger = sym_budget_grow(tree->budget, tree->nodes, tree->node_count,
                             &tree->node_room, sizeof(*larger));
    if (larger == NULL) {
        return SAMPLE_TREE_NONE;
    }
    tree->nodes = larger;
    found = (uint32_t)tree->node_count;
    if (tree->node_count >= SAMPLE_TREE_NONE ||
        !hash_index_add(&tree->node_index, hash, found)) {
        return SAMPLE_TREE_NONE;
    }
    tree->nodes[tree->node_count++] =
        (struct sample_node){.parent = parent, .name = text, .call = call};
    return found;
}

bool
sample_tree_count(struct sample_tree *tree, uint32_t node, struct sample_location at,
                  uint64_t hits)
{
    const uint32_t hash = hash_mix(hash_mix(0, node), location_key(at));
    struct sample_count *larger;
    size_t probe = 0;
    uint32_t found;

    while ((found = hash_index_find(&tree->count_index, hash, &probe)) !=
           HASH_INDEX_NONE) {
        struct sample_count *const count = &tree->counts[found];

        if (count->node == node && location_key(count->at) == location_key(at)) {
            if (tree->sums) {
                add_clamped(&count->hits, hits);
            } else if (hits > count->hits) {
                count->hits = hits;
            }
            return true;
        }
    }
    larger = sym_budget_grow(tree->budget, tree->counts, tree->count_count,
                             &tree->count_room, sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    tree->counts = larger;
    if (tree->count_count >= SAMPLE_TREE_NONE ||
        !hash_index_add(&tree->count_index, hash, (uint32_t)tree->count_count)) {
        return false;
    }
    tree->counts[tree->count_count++] =
        (struct sample_count){.node = node, .at = at, .hits = hits};
    return true;
}

/* --- order --- */

/* Add up the totals of nodes, children first: they come after their parents. */
static void
add_up(struct sample_tree *tree)
{
    for (size_t i = 0; i < tree->count_count; i++) {
        add_clamped(&tree->nodes[tree->counts[i].node].total, tree->counts[i].hits);
    }
    for (size_t i = tree->node_count; i > 0; i--) {
        const struct sample_node *const node = &tree->nodes[i - 1];

        if (node->parent != SAMPLE_TREE_NONE) {
            add_clamped(&tree->nodes[node->parent].total, node->total);
        }
    }
}

static int
compare_counts(const void *left, const void *right)
{
    const struct sample_count *const a = left;
    const struct sample_count *const b = right;
    const int order = compare_numbers(a->node, b->node);

    return order != 0 ? order
                      : compare_numbers(location_key(a->at), location_key(b->at));
}

/* Compare nodes: those that were not inlined come first, by total; then the others by
 * parent, location of the call and name. */
static int
compare_nodes(const void *left, const void *right, void *context)
{
    const struct sample_tree *const tree = context;
    const struct sample_node *const a = &tree->nodes[*(const uint32_t *)left];
    const struct sample_node *const b = &tree->nodes[*(const uint32_t *)right];
    /* SAMPLE_TREE_NONE plus 1 is 0. */
    int order = compare_numbers(a->parent + 1, b->parent + 1);

    if (order == 0 && a->parent == SAMPLE_TREE_NONE) {
        order = compare_numbers(b->total, a->total);
    }
    if (order == 0) {
        order = compare_numbers(location_key(a->call), location_key(b->call));
    }
    return order != 0 ? order
                      : strcmp(tree->names.texts[a->name], tree->names.texts[b->name]);
}

/* Set children and function_count, and each node's own children. Returns false
 * if memory runs out. */
static bool
sort_nodes(struct sample_tree *tree)
{
    tree->children = calloc(tree->node_count + 1, sizeof(*tree->children));
    if (tree->children == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < tree->node_count; i++) {
        tree->children[i] = i;
    }
    qsort_r(tree->children, tree->node_count, sizeof(*tree->children), compare_nodes,
            tree);
    for (uint32_t i = 0; i < tree->node_count; i++) {
        const uint32_t parent = tree->nodes[tree->children[i]].parent;

        if (parent == SAMPLE_TREE_NONE) {
            tree->function_count++;
        } else if (tree->nodes[parent].child_count++ == 0) {
            tree->nodes[parent].first_child = i;
        }
    }
    return true;
}

bool
sample_tree_sort(struct sample_tree *tree)
{
    add_up(tree);
    if (tree->count_count > 0) {
        qsort(tree->counts, tree->count_count, sizeof(*tree->counts), compare_counts);
    }
    for (uint32_t i = 0; i < tree->count_count; i++) {
        struct sample_node *const node = &tree->nodes[tree->counts[i].node];

        if (node->count_count++ == 0) {
            node->first_count = i;
        }
    }
    return sort_nodes(tree);
}

void
sample_tree_finish(struct sample_tree *tree)
{
    string_set_finish(&tree->names);
    hash_index_finish(&tree->node_index);
    hash_index_finish(&tree->count_index);
    free(tree->nodes);
    free(tree->counts);
    free(tree->children);
    *tree = (struct sample_tree){.node_count = 0};
}
