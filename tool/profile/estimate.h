/* SPDX-License-Identifier: MIT */
/*
 * estimate.h - estimates from hits: time or events, their errors, and ratios to another
 * source.
 */
#ifndef PROFILE_ESTIMATE_H
#define PROFILE_ESTIMATE_H

#include "base/buffer.h"
#include "profile/profile.h"

/* A normally distributed value is within so many standard deviations of its mean in 95
 * of 100 cases. */
#define REPORT_DEVIATIONS_95 1.959964

/* From this many hits of a source on, the error of a share is below one percent. */
enum { REPORT_SURE_HITS = 10000 };

/* With fewer hits on either side a ratio is noise. */
enum { REPORT_RATIO_HITS_MIN = 20 };

/* report_count - hits, and what they add up to in units of the granted interval: the
 * same number unless the source has several intervals (profile/join.h). */
struct report_count {
    uint64_t hits;
    uint64_t units;
};

/* Return whether the source counts time. Otherwise it counts events or, if
 * report_is_value, sums another tool's values. */
bool report_is_time(const struct profile_source *source);

/*
 * Return what a unit stands for, in ns or events: the granted interval, increased in
 * proportion to the hits that the statistics report as missing: granted * (taken + lost
 * + throttled + missed) / taken. Of several intervals, those sums are of hits times
 * interval. 0: unknown.
 */
double report_interval(const struct profile_source *source);

/* Return whether hits are sums of another tool's values, such as bytes, whose unit is
 * source->unit. */
bool report_is_value(const struct profile_source *source);

/* Return what the numbers of a source are called: "hits" or, if report_is_value, its
 * unit, which is to be escaped. */
const char *report_numbers(const struct profile_source *source);

/* Return the unit of estimates: "ns", "events" or, if report_is_value, source->unit. */
const char *report_unit(const struct profile_source *source);

/* Return whether every event is a hit and none is missing, so that nothing is
 * estimated. */
bool report_is_exact(const struct profile_source *source);

/*
 * Return half the width of a 95% interval around the share hits / total, as if hits
 * were independent: the distance to the farther end of Wilson's score interval, which
 * also holds for few hits and for 0 and 1. 0 if total is 0.
 */
double report_error(double hits, double total);

/* Append a value such as 2.26s, 310ms; 1.24G, 12. */
void report_put_time(struct buffer *out, double ns);
void report_put_events(struct buffer *out, double events);

/* report_ratio - events of one source per events of another. */
struct report_ratio {
    size_t numerator, denominator; /* indexes of sources */
    unsigned per;                  /* 1, 100 (a percentage) or 1000 */
    const char *title;             /* title suffix of a column: "/instr" */
    const char *unit;              /* "per instruction" */
};

/*
 * Find the useful ratio of a source, given the others: cycles per instruction, misses
 * per thousand instructions, or without instructions mispredictions per hundred
 * branches. Returns false if there is none.
 */
bool report_ratio_find(const struct profile *profile, size_t source,
                       struct report_ratio *ratio);

/* Compute a ratio from the counts of its two sources. Returns false if either has too
 * few hits. */
bool report_ratio_value(const struct profile *profile, const struct report_ratio *ratio,
                        const struct report_count *numerator,
                        const struct report_count *denominator, double *value);

#endif
