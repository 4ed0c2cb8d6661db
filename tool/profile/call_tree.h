/* SPDX-License-Identifier: MIT */
/*
 * call_tree.h - the stacks of one source as a tree of functions, and what each function
 * has in all of them.
 */
#ifndef PROFILE_CALL_TREE_H
#define PROFILE_CALL_TREE_H

#include "profile/identity.h"
#include "profile/profile.h"

enum call_tree_direction {
    CALL_TREE_DOWN, /* outermost functions first, then what they call */
    CALL_TREE_UP    /* functions with hits first, then their callers */
};

/* call_tree_options - all zero: of source 0, downwards, all stacks and nodes. */
struct call_tree_options {
    size_t source;
    enum call_tree_direction direction;
    bool inlined; /* functions that were inlined are nodes too */
    /*
     * By number: whether a function is chosen; NULL: none is. The tree then has the
     * stacks with a chosen function only, from there on. Of several on a stack that is
     * the outermost one: whatever calls itself has one caller outside of itself.
     */
    const bool *chosen;
    /* By number: passed over, as if it were part of its caller, unless it is chosen.
     * NULL: none is. */
    const bool *skipped;
    const bool *rows; /* by row: whether it is taken; NULL: all are */
    double minimum;   /* share of all hits; functions with less are merged */
};

/* call_tree_node - a function where it was called from the functions of its parents,
 * or (upwards) where it calls these. */
struct call_tree_node {
    const struct profile_function *function; /* of the root NULL */
    const struct profile_image *image;       /* of an end "[stack]"; of the root NULL */
    uint32_t number;      /* of the function; of the root IDENTITY_NONE */
    uint32_t parent;      /* index; of the root 0 */
    uint32_t depth;       /* of the root 0 */
    uint32_t merged;      /* children that have too few hits to be nodes */
    uint64_t merged_hits; /* all that these have */
    uint64_t self;        /* hits of stacks that end here */
    uint64_t total;       /* hits of all stacks through here */
};

/*
 * call_tree - its nodes in depth-first order, so that those below a node follow it.
 *
 * The first is the root, which is no function; its total is that of all stacks in the
 * tree, its self that of stacks with skipped functions only. A node's children are in
 * order of total, then name. Its total is its self, the totals of its children, and the
 * hits of its merged ones.
 */
struct call_tree {
    struct call_tree_node *nodes;
    size_t count;
    uint64_t hits; /* of the source in all rows */
};

/* Build the tree of a profile with stacks. Returns false if memory runs out; finish
 * must be called in any case. */
bool call_tree_build(struct call_tree *tree, const struct profile *profile,
                     const struct identities *identities,
                     const struct call_tree_options *options);

void call_tree_finish(struct call_tree *tree);

/*
 * Add what each function has.
 *
 *   self   by number: hits in the function itself
 *   total  by number: hits of the stacks that it is on, however often it is on one
 *
 * Both must be zero, with room for identities->count. With inlined, hits are in the
 * innermost function, inlined or not. Returns false if memory runs out.
 */
bool call_tree_sums(const struct profile *profile, const struct identities *identities,
                    size_t source, bool inlined, uint64_t *self, uint64_t *total);

#endif
