/* SPDX-License-Identifier: MIT */
/*
 * sample_tree.h - functions, what was inlined into them where, and a count for each of
 * their locations: what sample profiles of compilers are. Only tool/view/export
 * includes it.
 *
 * A location is relative to its function. Its count is the largest of all that are
 * given, since code of one location that lies in several places runs as often as the
 * place that runs most; or their sum, where locations are whole lines.
 */
#ifndef VIEW_EXPORT_SAMPLE_TREE_H
#define VIEW_EXPORT_SAMPLE_TREE_H

#include "base/budget.h"
#include "base/hash_index.h"
#include "base/string_set.h"

/* sample_location - a place in the code of a function. */
struct sample_location {
    uint32_t line;          /* lines behind the function's declaration, 16 bits */
    uint32_t discriminator; /* of code in one line; 0: none */
};

/* sample_node - a function, as it was compiled at one place. */
struct sample_node {
    uint32_t parent;             /* SAMPLE_TREE_NONE: it was not inlined */
    uint32_t name;               /* index into tree->names */
    struct sample_location call; /* in the parent */
    uint64_t total;       /* sorted: sum of its counts and its children's, clamped */
    uint32_t first_child; /* sorted: index into tree->children */
    uint32_t child_count;
    uint32_t first_count; /* sorted: index into tree->counts */
    uint32_t count_count;
};

/* sample_count - the count of a location of a node. */
struct sample_count {
    uint32_t node;
    struct sample_location at;
    uint64_t hits;
};

/* sample_tree - all zero: empty. A budget of NULL has no limit. Members marked "sorted"
 * are set by sample_tree_sort. */
struct sample_tree {
    struct sym_budget *budget;
    bool sums; /* counts of one location are added up; else the largest stays */
    struct string_set names;
    struct sample_node *nodes; /* parents before their children */
    size_t node_count, node_room;
    struct sample_count *counts;
    size_t count_count, count_room;
    struct hash_index node_index, count_index;
    uint32_t *children;      /* sorted: nodes by parent, those without one first */
    uint32_t function_count; /* sorted: number of nodes without a parent */
};

#define SAMPLE_TREE_NONE UINT32_MAX

/* sample_tree_enter - find or add the node of a function: of one that was inlined at
 * location call of parent or, if parent is SAMPLE_TREE_NONE, of one that was not.
 * Returns SAMPLE_TREE_NONE if memory or the budget ran out. */
uint32_t sample_tree_enter(struct sample_tree *tree, uint32_t parent,
                           struct sample_location call, const char *name);

/* sample_tree_count - count hits at a location of a node: their largest, or their sum.
 * Returns false if memory or the budget ran out. */
bool sample_tree_count(struct sample_tree *tree, uint32_t node,
                       struct sample_location at, uint64_t hits);

/*
 * sample_tree_sort - sort the tree after all hits were counted: functions by total, the
 * largest first; children by location and name; counts by location. Returns false if
 * memory ran out.
 */
bool sample_tree_sort(struct sample_tree *tree);

void sample_tree_finish(struct sample_tree *tree);

#endif
