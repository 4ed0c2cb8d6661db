/* SPDX-License-Identifier: MIT */
/*
 * budget.h - limits the memory that the names of one image take, since its files may be
 * forged: memory is taken from the budget before it is allocated, and given back when
 * it is freed. In all functions NULL stands for a budget without a limit.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sym_budget {
    uint64_t bytes; /* the whole budget */
    uint64_t left;  /* what of it is not taken */
    bool refused;   /* something was refused, so names are missing */
};

/* Start a budget of so many bytes; 0: 1 GiB. */
void sym_budget_begin(struct sym_budget *budget, uint64_t bytes);

/* Take bytes from the budget. Returns false, and takes nothing, if less is left. */
bool sym_budget_take(struct sym_budget *budget, uint64_t bytes);

/* Give bytes back that were taken and are freed. */
void sym_budget_give(struct sym_budget *budget, uint64_t bytes);

/* Do what sym_budget_grow does for an array that is full. */
void *sym_budget_enlarge(struct sym_budget *budget, void *items, size_t *room,
                         size_t item_bytes);

/*
 * Make room for one more item in an array of count items, which may be reallocated. The
 * bytes that it grows by are taken from the budget.
 *
 *   items  the array; NULL if room is 0
 *   room   in and out: the items for which there is memory
 *
 * Returns the array, or NULL if memory or the budget ran out; it is unchanged then.
 */
static inline void *
sym_budget_grow(struct sym_budget *budget, void *items, size_t count, size_t *room,
                size_t item_bytes)
{
    return count < *room ? items : sym_budget_enlarge(budget, items, room, item_bytes);
}

#endif
