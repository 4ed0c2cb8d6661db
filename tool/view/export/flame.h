/* SPDX-License-Identifier: MIT */
/*
 * flame.h - the tree that a flame graph shows: who called whom with the hits of one
 * source, in a profile and in an older one that it is compared with.
 *
 * Functions have one numbering for all trees and both profiles; their names are only
 * shown.
 */
#ifndef VIEW_EXPORT_FLAME_H
#define VIEW_EXPORT_FLAME_H

#include "base/hash_index.h"
#include "base/string_set.h"
#include "profile/profile.h"

/* Functions with a smaller share of both profiles are summed for each caller. */
#define FLAME_SHARE_LEAST 0.0002

enum flame_side { FLAME_NEW, FLAME_OLD };
enum { FLAME_SIDES = 2 };

struct flame_frame {
    uint32_t number; /* of the function */
    uint32_t name;   /* number in names; escaped, as a table has it */
    uint32_t full;   /* the same in full */
    /* Number in images; 0: it is in none. */
    uint32_t image_plus_1;
};

/* flame_frames - functions of all trees, each once. All zero: none. */
struct flame_frames {
    struct string_set names, images;
    struct flame_frame *items;
    size_t count, room;
    struct hash_index index;
};

/* Of nodes: the root, and functions with too few hits. */
#define FLAME_ALL UINT32_MAX
#define FLAME_REST (UINT32_MAX - 1)

struct flame_node {
    uint32_t parent; /* of the root: 0 */
    uint32_t frame;
    uint32_t rest; /* of FLAME_REST: how many functions, else 0 */
    uint64_t self[FLAME_SIDES];
    uint64_t total[FLAME_SIDES];
};

/* flame - the tree of a source. All zero: empty. */
struct flame {
    struct flame_frames *frames;
    struct flame_node *nodes; /* [0] is the root */
    size_t count, room;
    struct hash_index index;
};

/* flame_function - a function. Its names, which are copied, are those with which it is
 * added first. */
struct flame_function {
    uint32_t number;
    const char *name, *full; /* as in flame_frame */
    const char *image;       /* NULL: none */
};

/* Make the root. frames has the functions of all trees. Returns false if memory runs
 * out; finish must be called in any case. */
bool flame_begin(struct flame *flame, struct flame_frames *frames);

/* Find or add the node of a function that parent called, and add hits of its own.
 * Returns false if memory runs out. */
bool flame_add(struct flame *flame, uint32_t parent,
               const struct flame_function *function, enum flame_side side,
               uint64_t hits, uint32_t *node);

/*
 * Sum up, make one node of those with too few hits for each caller, and sort: nodes
 * in pre-order, those of one caller with the most hits first. Returns false if memory
 * runs out.
 */
bool flame_sort(struct flame *flame);

void flame_finish(struct flame *flame);
void flame_frames_finish(struct flame_frames *frames);

#endif
