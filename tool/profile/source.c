/* SPDX-License-Identifier: MIT */
/* source.c - sums of the statistics of sources, and finding sources. */
#include "profile/profile.h"

#include <math.h>
#include <string.h>

/* Return how many events the kernel counted for the hits that a source took. measured
 * is that number divided by taken, so the product is rounded to an integer. */
static double
counted_events(const struct profile_source *source)
{
    const double events = source->measured * (double)source->taken;

    return isfinite(events) && events > 0 ? round(events) : 0;
}

/* All statistics are sums but stack_bytes, the least, and measured, a mean, which is
 * computed anew from the events of both. Flags stay set if both are. */
bool
profile_source_add(struct profile_source *sum, const struct profile_source *more)
{
    const double events = counted_events(sum) + counted_events(more);
    const struct {
        uint64_t *sum;
        uint64_t more;
    } members[] = {
        {&sum->expected, more->expected}, {&sum->taken, more->taken},
        {&sum->counted, more->counted},   {&sum->outside, more->outside},
        {&sum->lost, more->lost},         {&sum->throttled, more->throttled},
        {&sum->missed, more->missed},     {&sum->unfinished, more->unfinished},
        {&sum->excluded, more->excluded}, {&sum->outside_kernel, more->outside_kernel},
        {&sum->contexts, more->contexts}, {&sum->contexts_max, more->contexts_max},
    };

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (__builtin_add_overflow(*members[i].sum, members[i].more, members[i].sum)) {
            return false;
        }
    }
    sum->measured = sum->taken > 0 ? events / (double)sum->taken : 0;
    if (sum->stack_bytes == 0 ||
        (more->stack_bytes != 0 && more->stack_bytes < sum->stack_bytes)) {
        sum->stack_bytes = more->stack_bytes;
    }
    sum->kernel_included &= more->kernel_included;
    sum->user_left_out &= more->user_left_out;
    return true;
}

struct profile_source *
profile_find_source(const struct profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->source_count; i++) {
        if (strcmp(profile->sources[i].name, name) == 0) {
            return &profile->sources[i];
        }
    }
    return NULL;
}

static bool
same_interval(const struct profile_source *a, const struct profile_source *b)
{
    return a->granted == b->granted && strcmp(a->name, b->name) == 0 &&
           strcmp(a->unit, b->unit) == 0;
}

struct profile_source *
profile_find_interval(const struct profile *profile, const struct profile_source *like)
{
    for (size_t i = 0; i < profile->source_count; i++) {
        if (same_interval(&profile->sources[i], like)) {
            return &profile->sources[i];
        }
    }
    return NULL;
}
