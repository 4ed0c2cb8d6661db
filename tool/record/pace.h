/* SPDX-License-Identifier: MIT */
/*
 * pace.h - chooses the interval of source time by the cost of a hit: for -F max, for
 * --max-overhead, and so that hits leave a thread at least half of its time.
 */
#ifndef RECORD_PACE_H
#define RECORD_PACE_H

#include "record/record_options.h"

#include <stdbool.h>
#include <stdint.h>

enum pace_reason {
    PACE_ASKED, /* the interval is that of the options */
    PACE_GUARD, /* it was too short */
    PACE_MAX,   /* -F max */
    PACE_OVERHEAD,
    /* a cost would have decided and could not be measured, as with back end timer */
    PACE_UNMEASURED
};

/* pace_sample - statistics of source time, since the start or between two moments. */
struct pace_sample {
    uint64_t expected;
    uint64_t taken;
    uint64_t missed;
};

struct pace {
    const struct record_options *options;
    enum pace_reason reason;
    uint64_t interval_100ns; /* in effect */
    uint64_t hit_ns;         /* what a hit takes from a thread; 0: not measured */
    struct pace_sample before;
};

/* Choose an interval, and measure the cost of a hit if that depends on it. */
void pace_choose(struct pace *pace, const struct record_options *options);

/* Choose another one that is asked for later; the guard may lengthen it. */
void pace_change(struct pace *pace, uint64_t interval_100ns);

/* Return the time after which the interval has to be adapted first; 0: never. */
uint64_t pace_adapts_ns(const struct pace *pace);

/*
 * Choose the interval again: twice as long if most hits were missed since the last
 * call, and with --max-overhead by the cost of a hit as it is now. Returns whether it
 * changed.
 *
 *   now  statistics since the start
 */
bool pace_adapt(struct pace *pace, const struct pace_sample *now);

/* Write why the interval is what it is, if a cost decided or should have. */
void pace_describe(const struct pace *pace, uint64_t granted_100ns, char *text,
                   size_t size);

#endif
