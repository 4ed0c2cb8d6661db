/* SPDX-License-Identifier: MIT */
/*
 * join.h - adds up the columns of one name, and rows of buckets of several sizes.
 *
 * An agent changes its interval, and so do people: hits of one source then stand for
 * different times, which are what adds up. A sum is counted in units that all of its
 * intervals are multiples of, so nothing is rounded. The hits stay beside it: a number
 * of hits is what a person expects to see, and the error of a sum depends on them. So
 * tools that know nothing of this have right sums and shares.
 */
#ifndef PROFILE_JOIN_H
#define PROFILE_JOIN_H

#include "profile/pprof.h"

/*
 * profile_join_intervals - make one source of all with the same name and unit. Its
 * statistics are the sums of theirs, in hits. Nothing can be added to the profile
 * afterwards.
 *
 * Returns false with the error set if memory runs out, a sum exceeds 64 bits, or one of
 * the intervals is not known; the profile stays valid.
 */
bool profile_join_intervals(struct profile *profile, struct pprof_error *error);

/* Return a row's hits of a source, given its counters; they may be sums of rows.
 * UINT64_MAX if they are more. */
uint64_t profile_hits(const struct profile_source *source, size_t index,
                      const uint64_t *counters);

/* Return how many counters a row has. */
size_t profile_width(const struct profile *profile);

/* Return the outside hits of a source, in units of its granted interval; 0 if the rows
 * are selected ones, which these hits do not belong to. */
uint64_t profile_outside(const struct profile *profile,
                         const struct profile_source *source);

enum profile_outside {
    PROFILE_OUTSIDE_ALL,
    PROFILE_OUTSIDE_USER,
    PROFILE_OUTSIDE_KERNEL
};

/* Set the counters of an array, which is like that of a row, to the outside hits in
 * these modes; to 0 if the rows are selected ones. */
void profile_set_outside(const struct profile *profile, enum profile_outside modes,
                         uint64_t *counters);

/*
 * Return the variance of a row's number of a source, given its counters: that of each
 * hit is the square of what it stands for, in units of granted.
 */
double profile_variance(const struct profile_source *source, size_t index,
                        const uint64_t *counters);

/* Return how many units of granted a hit of a source stands for, as an average over all
 * rows by their variance: 1 unless the source has several intervals. */
double profile_units_of_hit(const struct profile *profile, size_t source);

/*
 * Return the first byte of the widest bucket that an address of an image is in, where
 * the profile has buckets of several sizes; otherwise the address.
 */
uint64_t profile_bucket_start(const struct profile *profile,
                              const struct profile_image *image, uint64_t address);

/* Let all rows begin where the widest buckets do. They keep their own functions. */
void profile_join_buckets(struct profile *profile);

#endif
