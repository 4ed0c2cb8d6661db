/* SPDX-License-Identifier: MIT */
/* budget.c - what names may cost. */
#include "sym/budget.h"
#include "util/clock.h"

#include <stdlib.h>

#define BYTES_DEFAULT (UINT64_C(1) << 30)

/* One image leaves time for others. */
enum { IMAGE_SHARE = 3 };

/* Each of some 100 ns, or of a microsecond at most. */
enum { STEPS_PER_LOOK = 1024 };

void
sym_clock_start(struct sym_clock *clock, unsigned int seconds)
{
    clock->end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + seconds * UINT64_C(1000000000);
    clock->image_ns = seconds * UINT64_C(1000000000) / IMAGE_SHARE;
}

void
sym_budget_begin(struct sym_budget *budget, uint64_t bytes, struct sym_clock *clock)
{
    *budget = (struct sym_budget){.bytes = bytes == 0 ? BYTES_DEFAULT : bytes,
                                  .clock = clock};
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

/* Items are numbered in 32 bits, some with a bit to spare. */
enum { ROOM_FIRST = 16, ROOM_MAX = 1 << 30 };

void *
sym_budget_grow(struct sym_budget *budget, void *items, size_t count, size_t *room,
                size_t item_bytes)
{
    const size_t wanted = *room == 0 ? ROOM_FIRST : *room * 2;
    const uint64_t more = (uint64_t)(wanted - *room) * item_bytes;
    void *larger;

    if (count < *room) {
        return items;
    }
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

uint64_t
sym_budget_left(const struct sym_budget *budget)
{
    return budget == NULL ? UINT64_MAX : budget->left;
}

bool
sym_budget_in_time(struct sym_budget *budget)
{
    uint64_t now_ns;

    if (budget == NULL || budget->clock == NULL) {
        return true;
    }
    now_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (budget->begun != budget->clock->end_ns) {
        budget->begun = budget->clock->end_ns;
        budget->image_end_ns = now_ns + budget->clock->image_ns;
    }
    if (now_ns <= budget->clock->end_ns && now_ns <= budget->image_end_ns) {
        return true;
    }
    budget->late = true;
    return false;
}

bool
sym_budget_step(struct sym_budget *budget)
{
    if (budget == NULL || ++budget->steps < STEPS_PER_LOOK) {
        return true;
    }
    budget->steps = 0;
    return sym_budget_in_time(budget);
}
