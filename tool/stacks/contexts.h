/* SPDX-License-Identifier: MIT */
/*
 * contexts.h - who called the code that was hit, and how often: a table of bounded
 * size.
 *
 * Callers are a tree. Its roots are the ends of stacks; a node is a call from its
 * caller, and a row has the hits of one place with one innermost node.
 *
 * When there is no room, the rows with the fewest hits (of equal ones, those of the
 * lowest addresses) give their callers up: their hits move to a row of the same place
 * with the end STACK_OTHER. Rows of that end do not count towards the bound; there is
 * at most one for each place. A stack with more callers than half of the bound has them
 * given up at once. So no hit is lost, and the sum of a place never changes.
 */
#ifndef STACKS_CONTEXTS_H
#define STACKS_CONTEXTS_H

#include "stacks/stack.h"

#include <stdbool.h>
#include <stddef.h>

/* What a row with callers of STACK_OTHER has. */
enum { STACK_NODE_OTHER = 0 };

/* The caller of an end. */
#define STACK_NO_NODE UINT32_MAX

/* Of --contexts. */
enum { STACK_CONTEXTS_MIN = 64 };

/* stack_place - what was hit. */
struct stack_place {
    uint64_t owner; /* the caller's number of source, program, image and so on */
    uint64_t address;
};

struct stack_row {
    struct stack_place place;
    uint64_t hits;
    uint64_t taken; /* of hits: those that were taken before (stack_contexts_take) */
    uint32_t node;  /* innermost caller, or an end */
};

/* stack_node - a call, or the end of stacks. */
struct stack_node {
    uint64_t address; /* of a call, in the image's; of an end its enum stack_end */
    uint32_t image;   /* as stack_frame; of an end as stack_walked */
    uint32_t caller;  /* a node with a lower number; STACK_NO_NODE: this is an end */
};

struct stack_contexts;

/* Create a table of at most bound rows and as many nodes; bound is at least
 * STACK_CONTEXTS_MIN. Returns NULL if memory runs out. */
struct stack_contexts *stack_contexts_create(size_t bound);
void stack_contexts_delete(struct stack_contexts *contexts); /* NULL is allowed */

/*
 * Add hits of a place with its callers.
 *
 *   added   place, hits and taken; node is not used
 *   frames  of count callers, innermost first
 *   end     with image; STACK_OTHER: with no frames
 *
 * Returns false if memory runs out; then the hits are not added, and no sum has
 * changed.
 */
bool stack_contexts_add(struct stack_contexts *contexts, const struct stack_row *added,
                        const struct stack_frame *frames, size_t count,
                        enum stack_end end, uint32_t image);

/* Note that all hits until now are taken. */
void stack_contexts_take(struct stack_contexts *contexts);

/* All rows, in no order; valid until hits are added. */
const struct stack_row *stack_contexts_rows(const struct stack_contexts *contexts,
                                            size_t *count);

/* Rows that have callers, of the bound. */
size_t stack_contexts_count(const struct stack_contexts *contexts);

/* What is used of the bound: those rows or the nodes, whichever are more. */
size_t stack_contexts_used(const struct stack_contexts *contexts);

/* Numbers of nodes are valid until hits are added. */
struct stack_node stack_contexts_node(const struct stack_contexts *contexts,
                                      uint32_t number);
size_t stack_contexts_node_count(const struct stack_contexts *contexts);

#endif
