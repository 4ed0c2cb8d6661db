/* SPDX-License-Identifier: MIT */
/*
 * callers.h - finds who called the code that was hit, while the recording runs, and
 * counts hits by that.
 *
 * The stack of a hit whose unwind rules are known is walked by the thread that
 * delivers it. Otherwise it waits in a pool of fixed size for threads that ask readers
 * for rules; when the pool is full its callers are not recorded. So delivery never
 * waits for a reader.
 *
 * Addresses of frames are places of their image (enum image_kind).
 */
#ifndef RECORD_COLLECT_CALLERS_H
#define RECORD_COLLECT_CALLERS_H

#include "record/collect/code_map.h"
#include "record/collect/unwinders.h"
#include "stacks/contexts.h"

#include <ntprof/ntprof.h>

struct callers;

struct callers_settings {
    uint32_t stack_bytes;  /* at most, of a copy; as the session was asked for */
    uint32_t kernel_depth; /* most frames of the kernel: kernel.perf_event_max_stack */
    size_t contexts;       /* the bound of rows with callers, and of calls */
    unwinders_find *find;  /* called on the threads that ask readers */
    void *context;
    const struct sym_settings *symbols; /* as of unwinders_new */
};

/* Returns NULL if memory runs out. */
struct callers *callers_new(const struct callers_settings *settings);
void callers_delete(struct callers *callers); /* NULL is allowed */

/* Start the threads that ask readers. Returns 0 or a negative errno. */
int callers_start(struct callers *callers);

/* End these threads, if they run, when what waits has been walked, for ten seconds at
 * most. They must be able to call find meanwhile. */
void callers_stop(struct callers *callers);

/* callers_hit - a hit that was counted. */
struct callers_hit {
    struct stack_place place; /* what it was counted as */
    const ntprof_stack *stack;
    struct code_map *code; /* of its process, now; borrowed */
    uint32_t kernel_image; /* number of the kernel's; of a hit in kernel mode */
};

/* Count a hit by its callers. Any thread, one at a time; does not wait for readers. */
void callers_take(struct callers *callers, const struct callers_hit *hit);

/* callers_part - which hits a cut has. Hits are those of the last cut if they were
 * counted by then, also if their stacks were walked later. */
enum callers_part {
    CALLERS_ALL,    /* all until now */
    CALLERS_RECENT, /* those since the last cut that was no repetition */
    CALLERS_REPEAT  /* those until then */
};

/* callers_cut - hits by callers. Hits of which it knows nothing are those whose callers
 * were not recorded. */
struct callers_cut {
    struct stack_row *rows; /* by owner, address and node */
    size_t row_count;
    struct stack_node *nodes; /* those of rows, and STACK_NODE_OTHER */
    size_t node_count;
    size_t contexts; /* used of the bound, in all */
};

/* Make a cut. No hit is taken meanwhile. Returns NULL if memory runs out. */
struct callers_cut *callers_cut_make(struct callers *callers, enum callers_part part);
void callers_cut_delete(struct callers_cut *cut); /* NULL is allowed */

/* Take over the reader of an image, as unwinders_take does. */
struct sym_image *callers_take_reader(struct callers *callers, uint32_t image);

/* Get the images whose unwind tables could not be read until now. */
struct unwind_gaps callers_gaps(struct callers *callers);

/* The rows of a place, of which *count are one after the other. */
const struct stack_row *callers_cut_rows(const struct callers_cut *cut,
                                         const struct stack_place *place,
                                         size_t *count);

/*
 * Make a number for what place.address is of. Returns false if one of the numbers is
 * larger than those of any recording with callers.
 *
 *   program  as in struct count
 */
bool callers_owner(uint32_t image, uint32_t program, uint32_t thread, uint64_t *owner);

#endif
