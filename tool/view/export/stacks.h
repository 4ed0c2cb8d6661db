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
    uint32_t name;    /* index into names, which are escaped */
    uint32_t line;    /* line where the function starts; 0: unknown, or not wanted */
    const char *file; /* source file; "": unknown, or not wanted */
};

/* export_node - a frame in the stack of its parent. */
struct export_node {
    uint32_t parent; /* index of the next outer node; of the root: 0 */
    uint32_t frame;  /* index; the root has none */
};

/* export_stacks - the stacks of a profile. All zero is an empty tree. */
struct export_stacks {
    struct string_set names;
    struct export_frame *frames;
    size_t frame_count, frame_capacity;
    struct export_node *nodes; /* [0] is the root */
    size_t node_count, node_capacity;
    uint32_t *node_of_row; /* node of the whole stack; 0: the row has no hits */
    struct hash_index by_frame, by_node;
};

/*
 * export_stacks_build - make the stacks of all rows with hits. stacks must be empty.
 *
 *   places  give frames the source file and first line of their functions
 *
 * Returns false if memory ran out; export_stacks_finish must be called in any case.
 */
bool export_stacks_build(struct export_stacks *stacks, const struct profile *profile,
                         bool places);
void export_stacks_finish(struct export_stacks *stacks);

/* export_stacks_hits - return the hits of a source by node, for free(); NULL
 * if memory ran out. */
uint64_t *export_stacks_hits(const struct export_stacks *stacks,
                             const struct profile *profile, size_t source);

/*
 * export_stacks_path - set path to the frames of a node, outermost first, as uint32_t
 * indexes. Returns false if memory ran out.
 */
bool export_stacks_path(const struct export_stacks *stacks, uint32_t node,
                        struct buffer *path);

/* export_stacks_name - return the name of a frame, escaped. */
const char *export_stacks_name(const struct export_stacks *stacks, uint32_t frame);

#endif
