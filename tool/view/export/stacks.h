/* SPDX-License-Identifier: MIT */
/*
 * stacks.h - the rows of a profile as stacks: process, then the callers, or the image
 * if they were not recorded, and the functions at the place, outermost first: what was
 * inlined lies above what it was inlined into. Only tool/view/export includes it.
 *
 * Stacks share what they have in common: each is a node in a tree.
 */
#ifndef VIEW_EXPORT_STACKS_H
#define VIEW_EXPORT_STACKS_H

#include "base/buffer.h"
#include "base/hash_index.h"
#include "base/string_set.h"
#include "profile/profile.h"

/* export_frame - one level of a stack. */
struct export_frame {
    uint32_t name;    /* number in names; escaped */
    uint32_t line;    /* where the function starts; 0 unknown */
    const char *file; /* source file, "" unknown */
};

struct export_node {
    uint32_t parent; /* index; of the root: 0 */
    uint32_t frame;  /* index; of the root: none */
};

/* All zero is an empty tree. */
struct export_stacks {
    struct string_set names;
    struct export_frame *frames;
    size_t frame_count, frame_capacity;
    struct export_node *nodes; /* [0] is the root */
    size_t node_count, node_capacity;
    uint32_t *node_of_row; /* 0: a row without hits */
    struct hash_index by_frame, by_node;
};

/*
 * Make the stacks of all rows with hits. stacks must be empty.
 *
 *   places  give frames the source file and first line of their functions
 *
 * Returns false if memory ran out; export_stacks_finish must be called in any case.
 */
bool export_stacks_build(struct export_stacks *stacks, const struct profile *profile,
                         bool places);
void export_stacks_finish(struct export_stacks *stacks);

/* The hits of a source by node: an array for free(), or NULL if memory ran out. */
uint64_t *export_stacks_hits(const struct export_stacks *stacks,
                             const struct profile *profile, size_t source);

/*
 * Set path to the frames of a node, outermost first, as uint32_t indexes. Returns false
 * if memory ran out.
 */
bool export_stacks_path(const struct export_stacks *stacks, uint32_t node,
                        struct buffer *path);

/* The name of a frame, escaped. */
const char *export_stacks_name(const struct export_stacks *stacks, uint32_t frame);

#endif
