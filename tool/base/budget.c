/* SPDX-License-Identifier: MIT */
/* budget.c - counts the memory of names, and grows arrays within a budget. */
#include "base/budget.h"

#include <stdlib.h>

#define BYTES_DEFAULT (UINT64_C(1) << 30)

void
sym_budget_begin(struct sym_budget *budget, uint64_t bytes)
{
    *budget = (struct sym_budget){.bytes = bytes == 0 ? BYTES_DEFAULT : bytes};
    budget->left = budget->bytes;
}

bool
sym_budget_take(struct sym_budget *budget, uint64_t bytes)
{
    if (budget == NULL) {
        return true;
    }
    if (bytes > budget->left) {
        budget->refused = true;
        return false;
    }
    budget->left -= bytes;
    return true;
}

void
sym_budget_give(struct sym_budget *budget, uint64_t bytes)
{
    if (budget != NULL) {
        budget->left += bytes;
    }
}

/* At most 2^30 items: callers number them in 32 bits, of which some use a bit for
 * something else. */
enum { ROOM_FIRST = 16, ROOM_MAX = 1 << 30 };

void *
sym_budget_enlarge(struct sym_budget *budget, void *items, size_t *room,
                   size_t item_bytes)
{
    const size_t wanted = *room == 0 ? ROOM_FIRST : *room * 2;
    const uint64_t more = (uint64_t)(wanted - *room) * item_bytes;
    void *larger;

    if (wanted > ROOM_MAX || !sym_budget_take(budget, more)) {
        return NULL;
    }
    larger = reallocarray(items, wanted, item_bytes);
    if (larger == NULL) {
        sym_budget_give(budget, more);
        return NULL;
    }
    *room = wanted;
    return larger;
}
