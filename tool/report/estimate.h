/* SPDX-License-Identifier: MIT */
/*
 * estimate.h - what hits stand for: time or events, with what certainty, and in what
 * proportion to those of another source. For tool/report alone.
 */
#ifndef REPORT_ESTIMATE_H
#define REPORT_ESTIMATE_H

#include "profile/profile.h"
#include "util/buffer.h"

/* From so many hits of a source on, the error of a share is below a hundredth. */
enum { REPORT_SURE_HITS = 10000 };

/* With fewer hits on either side a ratio is noise. */
enum { REPORT_RATIO_HITS_MIN = 20 };

/* Is the source's unit time? Else it is events. */
bool report_is_time(const struct profile_source *source);

/*
 * What a hit stands for, in ns or events: the interval granted, and more where hits are
 * missing, by as much as the statistics say: granted * (taken + lost + throttled +
 * missed) / taken. 0: not known.
 */
double report_interval(const struct profile_source *source);

/* Is every event a hit, and none missing, so that there is nothing to estimate? */
bool report_is_exact(const struct profile_source *source);

/*
 * Half the width of a 95% interval about the share hits / total, as if hits were drawn
 * one by one: the distance to the farther end of Wilson's score interval, which holds
 * for few hits and at 0 and 1 too. 0 without hits in total.
 */
double report_error(uint64_t hits, uint64_t total);

/* 2.26s, 310ms; 1.24G, 12. */
void report_put_time(struct buffer *out, double ns);
void report_put_events(struct buffer *out, double events);

/* report_ratio - events of one source for per events of another. */
struct report_ratio {
    size_t numerator, denominator; /* indexes of sources */
    unsigned per;                  /* 1, 100 (a percentage) or 1000 */
    const char *title;             /* of a column behind the source's: "/instr" */
    const char *unit;              /* "per instruction" */
};

/*
 * The ratio that is of use for a source, given the others: cycles for an instruction,
 * misses for a thousand instructions, without instructions mispredictions of a hundred
 * branches. False: there is none.
 */
bool report_ratio_find(const struct profile *profile, size_t source,
                       struct report_ratio *ratio);

/* Its value. False: too few hits of either. */
bool report_ratio_value(const struct profile *profile, const struct report_ratio *ratio,
                        uint64_t numerator_hits, uint64_t denominator_hits,
                        double *value);

#endif
