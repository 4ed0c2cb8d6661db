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

/* pace_reason - what decided about the interval. */
enum pace_reason {
    PACE_ASKED,    /* the interval is that of the options */
    PACE_GUARD,    /* that was too short: hits would take more than half of the time */
    PACE_MAX,      /* -F max */
    PACE_OVERHEAD, /* --max-overhead */
    /* a cost would have decided and could not be measured, as with back end timer */
    PACE_UNMEASURED
};

/* pace_sample - numbers of hits of source time (ntprof_source_info), since the start or
 * between two moments. */
struct pace_sample {
    uint64_t expected;
    uint64_t taken;
    uint64_t missed;
};

struct pace {
    const struct record_options *options;
    const char *hal; /* the back end whose hits are measured; NULL: the default one */
    enum pace_reason reason;
    uint64_t interval_100ns;   /* in effect */
    uint64_t hit_ns;           /* what a hit takes from a thread; 0: not measured */
    struct pace_sample before; /* when pace_adapt last had enough hits */
};

/* Choose the interval of source time, and measure the cost of a hit over back end hal
 * if the choice depends on it. */
void pace_choose(struct pace *pace, const struct record_options *options,
                 const char *hal);

/* Set another interval that is asked for while the recording runs; the
 * guard may lengthen it. */
void pace_change(struct pace *pace, uint64_t interval_100ns);

/* Return the time after which pace_adapt has to be called first; 0: never. */
uint64_t pace_adapts_ns(const struct pace *pace);

/* pace_adapt - choose the interval again: twice as long if most hits were missed since
 * the last call, or since an earlier one while too few were taken to say so; else, with
 * --max-overhead, by the cost of a hit as it is now. now are the statistics since the
 * start. Returns whether the interval changed. */
bool pace_adapt(struct pace *pace, const struct pace_sample *now);

/* Write to text why the interval is what it is, if a cost decided or should have, or
 * hits take much time at it; otherwise "". granted_100ns is the interval in effect. */
void pace_describe(const struct pace *pace, uint64_t granted_100ns, char *text,
                   size_t size);

#endif
