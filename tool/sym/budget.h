/* SPDX-License-Identifier: MIT */
/*
 * budget.h - what names may cost, whatever the files say: memory of one image, and
 * processor time of all.
 *
 * What would be kept is counted before it is read or made. Processor time, not that of
 * a clock on the wall: a busy machine loses no names.
 */
#ifndef SYM_BUDGET_H
#define SYM_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sym_clock - until when names may be read. */
struct sym_clock {
    uint64_t end_ns;   /* of the thread's processor time */
    uint64_t image_ns; /* for one image, from when it is looked at first */
};

struct sym_budget {
    uint64_t bytes;          /* at first */
    uint64_t left;           /* of them */
    bool refused;            /* something was: it was too much */
    bool late;               /* the time was up */
    unsigned int steps;      /* since the clock was looked at */
    struct sym_clock *clock; /* NULL: time has no limit */
    uint64_t begun;          /* end_ns of the clock that image_end_ns is for */
    uint64_t image_end_ns;
};

/* So many seconds from now on, of the thread that calls; a third of them for one image
 * at most. */
void sym_clock_start(struct sym_clock *clock, unsigned int seconds);

/*
 *   bytes  0: 1 GiB
 *   clock  borrowed, or NULL
 */
void sym_budget_begin(struct sym_budget *budget, uint64_t bytes,
                      struct sym_clock *clock);

/* Of all these a budget that is NULL has no end. */

/* False, and nothing is taken: it is too much. */
bool sym_budget_take(struct sym_budget *budget, uint64_t bytes);

/* What was taken is not there any more. */
void sym_budget_give(struct sym_budget *budget, uint64_t bytes);

/*
 * Room for one item more behind count items of an array, which may move; what it grows
 * by is taken. NULL: it is too much, and the array stays as it is.
 *
 *   items  NULL at first, when room is 0
 *   room   in, out: of items
 */
void *sym_budget_grow(struct sym_budget *budget, void *items, size_t count,
                      size_t *room, size_t item_bytes);

/* How much may be taken still. */
uint64_t sym_budget_left(const struct sym_budget *budget);

/* Is there time left? */
bool sym_budget_in_time(struct sym_budget *budget);

/* The same for each of very many steps: the clock is looked at now and then. */
bool sym_budget_step(struct sym_budget *budget);

#endif
