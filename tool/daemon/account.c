/* SPDX-License-Identifier: MIT */
/* account.c - subtracts the statistics of the last look from those of this one. */
#include "daemon/account.h"

#include <assert.h>
#include <string.h>

/* Return what a figure grew by since the last call, and keep it in *before. If it
 * shrank, return 0 and keep the larger one. */
static uint64_t
take_growth(uint64_t *before, uint64_t now)
{
    const uint64_t more = now > *before ? now - *before : 0;

    *before += more;
    return more;
}

/* Replace the statistics of a source since the start by those since the last call, up
 * to which before and events_before have them. measured is the average interval of the
 * new hits. */
static void
take_source(struct profile_source *before, double *events_before,
            struct profile_source *source)
{
    const double events = source->measured * (double)source->taken;
    const double more = events > *events_before ? events - *events_before : 0;

    source->counted = take_growth(&before->counted, source->counted);
    source->outside = take_growth(&before->outside, source->outside);
    source->lost = take_growth(&before->lost, source->lost);
    source->throttled = take_growth(&before->throttled, source->throttled);
    source->missed = take_growth(&before->missed, source->missed);
    source->unfinished = take_growth(&before->unfinished, source->unfinished);
    source->excluded = take_growth(&before->excluded, source->excluded);
    source->outside_kernel =
        take_growth(&before->outside_kernel, source->outside_kernel);
    if (source->outside_kernel > source->outside) {
        source->outside_kernel = source->outside;
    }
    source->taken = source->counted + source->outside;
    source->expected = source->taken + source->lost + source->throttled +
                       source->missed + source->unfinished + source->excluded;
    source->measured = source->taken > 0 ? more / (double)source->taken : 0;
    *events_before = events;
}

/* Pointers to the members of gaps that count from the start. */
#define COUNTED_GAPS(gaps)                                                          \
    {                                                                               \
        &(gaps)->failures, &(gaps)->unfollowed, &(gaps)->records_lost,              \
            &(gaps)->unread, &(gaps)->unopened, &(gaps)->refused, &(gaps)->unowned, \
            &(gaps)->unnamed                                                        \
    }

enum { GAPS = 8 };

void
account_take(struct account *account, struct profile *look, struct collector_gaps *gaps)
{
    uint64_t *const before[GAPS] = COUNTED_GAPS(&account->gaps);
    uint64_t *const now[GAPS] = COUNTED_GAPS(gaps);

    assert(look->source_count <= RECORD_SOURCES_MAX);
    for (size_t i = 0; i < look->source_count; i++) {
        take_source(&account->sources[i], &account->events[i], &look->sources[i]);
    }
    for (size_t i = 0; i < GAPS; i++) {
        *now[i] = take_growth(before[i], *now[i]);
    }
    /* These describe a whole recording, and a window has no use for them:
     * account_add_gaps leaves them out, too. */
    gaps->running = 0;
    gaps->elapsed_ns = 0;
    gaps->counted_ns = 0;
    gaps->interval_changes = 0;
}

void
account_add_gaps(struct collector_gaps *sum, const struct collector_gaps *more)
{
    struct collector_gaps added = *more;
    uint64_t *const sums[GAPS] = COUNTED_GAPS(sum);
    uint64_t *const mores[GAPS] = COUNTED_GAPS(&added);

    for (size_t i = 0; i < GAPS; i++) {
        *sums[i] += *mores[i];
    }
    sum->first_failure = more->first_failure;
    /* These describe the present state, and are not added up. */
    sum->refused_maps = more->refused_maps;
    memcpy(sum->refused_why, more->refused_why, sizeof(sum->refused_why));
    sum->bounded_images = more->bounded_images;
}
