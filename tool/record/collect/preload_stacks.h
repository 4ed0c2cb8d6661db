/* SPDX-License-Identifier: MIT */
/*
 * preload_stacks.h - takes hits with stacks out of the rings of processes, counts them,
 * and has their callers found.
 *
 * All functions are called with the delivery lock.
 */
#ifndef RECORD_COLLECT_PRELOAD_STACKS_H
#define RECORD_COLLECT_PRELOAD_STACKS_H

#include <stdbool.h>

struct preload_stacks;
struct preloaded;

/* Returns NULL if memory runs out. */
struct preload_stacks *preload_stacks_new(struct preloaded *preloaded);
void preload_stacks_delete(struct preload_stacks *stacks); /* NULL is allowed */

/* Take over the rings that were handed over since the last call. To be called before
 * processes are looked at: that of a ring has been reported before. */
void preload_stacks_accept(struct preload_stacks *stacks);

/* Find out which processes have to have their mappings read (wants_maps), and forget
 * new rings that are not of the process that they name. */
void preload_stacks_look(struct preload_stacks *stacks);

/* Take all hits. Returns false if memory runs out; those that were not taken stay. */
bool preload_stacks_take(struct preload_stacks *stacks);

/* Take the hits whose code is known, forget the rings of processes that have exited,
 * and now and then free the slots that ended threads were writing. */
void preload_stacks_end(struct preload_stacks *stacks);

#endif
