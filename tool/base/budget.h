/* SPDX-License-Identifier: MIT */
/*
 * budget.h - how much memory the names of one image may take, whatever its files say.
 *
 * What would be kept is counted before it is read or made.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sym_budget {
    uint64_t bytes; /* at first */
    uint64_t left;  /* of them */
    bool refused;   /* something was: it was too much */
};

/* bytes: 0 is 1 GiB. */
void sym_budget_begin(struct sym_budget *budget, uint64_t bytes);

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

#endif
