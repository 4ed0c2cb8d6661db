/* SPDX-License-Identifier: MIT */
/* join.c - makes the sums of sources and of buckets, and reads hits and their units
 * back. */
#include "profile/join.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Larger buckets than a page begin at their image's start, others at multiples. */
enum { PAGE_BYTES = 4096 };

/* joining - how the new counters of a row are made from its old ones. */
struct joining {
    const struct profile *profile;
    const struct profile_source *sums;
    size_t sum_count;
    uint32_t *columns; /* by part, in order: index of the old source */
    uint32_t *only;    /* by sum without parts: index of the old source */
    uint64_t *totals;  /* by sum, which limit each row's number */
    const struct profile_source *overflow; /* sum that is too large; NULL: none is */
};

/* Return how many units of a sum a hit of one of its parts stands for. */
static uint64_t
factor_of(const struct profile_source *sum, const struct profile_source *part)
{
    return part->granted / sum->granted;
}

/* ---- sources ---- */

static uint64_t
greatest_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static bool
same_name(const struct profile_source *a, const struct profile_source *b)
{
    return a->name == b->name && a->unit == b->unit;
}

static bool
fail_source(struct pprof_error *error, const char *why, const char *name)
{
    char shown[80];

    snprintf(error->text, sizeof(error->text), "the hits of source %s %s",
             text_show(shown, sizeof(shown), name), why);
    return false;
}

static bool
fail_memory(struct pprof_error *error)
{
    snprintf(error->text, sizeof(error->text), "out of memory for the profile");
    return false;
}

/* Add a part to a sum, which has room for it. */
static bool
add_part(struct profile_source *sum, const struct profile_source *part,
         struct pprof_error *error)
{
    if (part->granted == 0 || sum->granted == 0) {
        return fail_source(error,
                           "are of several intervals, one of which is not known: such "
                           "hits do not add up",
                           part->name);
    }
    if (!profile_source_add(sum, part)) {
        return fail_source(error, "add up to more than 64 bits", part->name);
    }
    sum->granted = greatest_divisor(sum->granted, part->granted);
    sum->asked = sum->asked == part->asked ? sum->asked : 0;
    sum->parts[sum->part_count++] = *part;
    return true;
}

/* Make the sum of all sources with the name of the first one. If there is no other, it
 * has no parts. column: in and out, the next entry of joining->columns. */
static bool
make_sum(struct joining *joining, size_t first, struct profile_source *sum,
         size_t *column, struct pprof_error *error)
{
    const struct profile *const profile = joining->profile;
    const size_t start = *column;

    *sum = profile->sources[first];
    sum->parts = calloc(profile->source_count, sizeof(*sum->parts));
    if (sum->parts == NULL) {
        return fail_memory(error);
    }
    sum->parts[sum->part_count++] = profile->sources[first];
    joining->columns[(*column)++] = (uint32_t)first;
    for (size_t i = first + 1; i < profile->source_count; i++) {
        if (same_name(&profile->sources[i], sum)) {
            joining->columns[(*column)++] = (uint32_t)i;
            if (!add_part(sum, &profile->sources[i], error)) {
                return false;
            }
        }
    }
    if (sum->part_count == 1) {
        free(sum->parts);
        sum->parts = NULL;
        sum->part_count = 0;
        *column = start;
    }
    return true;
}

/* Whether a source is the first one with its name. */
static bool
is_first(const struct profile *profile, size_t source)
{
    for (size_t i = 0; i < source; i++) {
        if (same_name(&profile->sources[i], &profile->sources[source])) {
            return false;
        }
    }
    return true;
}

/* Make all sums. Returns how many counters a row gets, or 0 after a failure. */
static size_t
make_sums(struct joining *joining, struct profile_source *sums,
          struct pprof_error *error)
{
    const struct profile *const profile = joining->profile;
    size_t listed = 0; /* entries of joining->columns */
    size_t columns;

    for (size_t i = 0; i < profile->source_count; i++) {
        if (is_first(profile, i)) {
            joining->only[joining->sum_count] = (uint32_t)i;
            if (!make_sum(joining, i, &sums[joining->sum_count++], &listed, error)) {
                return 0;
            }
        }
    }
    columns = joining->sum_count;
    for (size_t i = 0; i < joining->sum_count; i++) {
        sums[i].first_part = columns;
        columns += sums[i].part_count;
    }
    return columns;
}

/* ---- rows ---- */

/* Fill the new counters of a row: sums, and behind them the hits of their parts. */
static void
fill_row(void *context, const uint64_t *from, uint64_t *to)
{
    struct joining *const joining = context;
    size_t column = 0;

    for (size_t i = 0; i < joining->sum_count; i++) {
        const struct profile_source *const sum = &joining->sums[i];

        if (sum->part_count == 0) {
            to[i] = from[joining->only[i]];
        }
        for (size_t k = 0; k < sum->part_count; k++) {
            const uint64_t hits = from[joining->columns[column++]];
            uint64_t more;

            to[sum->first_part + k] = hits;
            if (__builtin_mul_overflow(hits, factor_of(sum, &sum->parts[k]), &more) ||
                __builtin_add_overflow(to[i], more, &to[i])) {
                joining->overflow = sum;
            }
        }
    }
}

/* Find out whether all rows' numbers can be added up, and the file can hold the result.
 * Those of sources without parts stay as they are. counters: scratch for a row. */
static bool
check_totals(struct joining *joining, uint64_t *counters)
{
    const struct profile *const profile = joining->profile;

    for (size_t row = 0; row < profile->row_count && joining->overflow == NULL; row++) {
        memset(counters, 0,
               (joining->sum_count + profile->source_count) * sizeof(*counters));
        fill_row(joining, profile->rows[row].hits, counters);
        for (size_t i = 0; i < joining->sum_count; i++) {
            const bool fits = !__builtin_add_overflow(joining->totals[i], counters[i],
                                                      &joining->totals[i]) &&
                              joining->totals[i] <= INT64_MAX;

            if (!fits && joining->sums[i].part_count > 0) {
                joining->overflow = &joining->sums[i];
            }
        }
    }
    return joining->overflow == NULL;
}

/* Whether no two sources have the same name: there is nothing to join. */
static bool
is_joined(const struct profile *profile)
{
    for (size_t i = 0; i < profile->source_count; i++) {
        if (!is_first(profile, i)) {
            return false;
        }
    }
    return true;
}

/* Replace sources that differ only in their interval by sums with parts. */
static bool
join(struct joining *joining, struct profile *profile, struct profile_source *sums,
     struct pprof_error *error)
{
    const size_t width = make_sums(joining, sums, error);
    uint64_t *const counters = calloc(2 * profile->source_count + 1, sizeof(*counters));
    bool done = width > 0;

    joining->sums = sums;
    if (done && counters == NULL) {
        done = fail_memory(error);
    }
    if (done && !check_totals(joining, counters)) {
        done = fail_source(error,
                           "times their intervals add up to more than a profile holds",
                           joining->overflow->name);
    }
    free(counters);
    if (done && !profile_change_hits(profile, width, fill_row, joining)) {
        done = fail_memory(error);
    }
    return done;
}

bool
profile_join_intervals(struct profile *profile, struct pprof_error *error)
{
    struct joining joining = {.profile = profile};
    struct profile_source *sums;
    bool done;

    if (is_joined(profile)) {
        return true;
    }
    sums = calloc(profile->source_count, sizeof(*sums));
    joining.columns = calloc(profile->source_count, sizeof(*joining.columns));
    joining.only = calloc(profile->source_count, sizeof(*joining.only));
    joining.totals = calloc(profile->source_count, sizeof(*joining.totals));
    done = (sums != NULL && joining.columns != NULL && joining.only != NULL &&
            joining.totals != NULL) ||
           fail_memory(error);
    done = done && join(&joining, profile, sums, error);
    if (done) {
        free(profile->sources);
        profile->sources = sums;
        profile->source_count = joining.sum_count;
        profile_sort(profile);
    } else {
        for (size_t i = 0; sums != NULL && i < profile->source_count; i++) {
            free(sums[i].parts);
        }
        free(sums);
    }
    free(joining.columns);
    free(joining.only);
    free(joining.totals);
    return done;
}

/* ---- counters ---- */

uint64_t
profile_hits(const struct profile_source *source, size_t index,
             const uint64_t *counters)
{
    uint64_t hits = 0;

    for (size_t k = 0; k < source->part_count; k++) {
        if (__builtin_add_overflow(hits, counters[source->first_part + k], &hits)) {
            return UINT64_MAX;
        }
    }
    return source->part_count > 0 ? hits : counters[index];
}

size_t
profile_width(const struct profile *profile)
{
    size_t width = profile->source_count;

    for (size_t i = 0; i < profile->source_count; i++) {
        width += profile->sources[i].part_count;
    }
    return width;
}

/* Return the outside hits of a source of one interval that are in these modes. */
static uint64_t
outside_in(const struct profile *profile, const struct profile_source *source,
           enum profile_outside modes)
{
    if (profile->rows_selected) {
        return 0;
    }
    switch (modes) {
    case PROFILE_OUTSIDE_KERNEL:
        return source->outside_kernel;
    case PROFILE_OUTSIDE_USER:
        return source->outside - source->outside_kernel;
    case PROFILE_OUTSIDE_ALL:
        break;
    }
    return source->outside;
}

/* Return the outside hits of a source, of one interval or several, that are in these
 * modes, in units of its granted interval. */
static uint64_t
outside_units(const struct profile *profile, const struct profile_source *source,
              enum profile_outside modes)
{
    uint64_t outside = 0;

    for (size_t k = 0; k < source->part_count; k++) {
        uint64_t more;

        if (__builtin_mul_overflow(outside_in(profile, &source->parts[k], modes),
                                   factor_of(source, &source->parts[k]), &more) ||
            __builtin_add_overflow(outside, more, &outside)) {
            return UINT64_MAX;
        }
    }
    return source->part_count > 0 ? outside : outside_in(profile, source, modes);
}

uint64_t
profile_outside(const struct profile *profile, const struct profile_source *source)
{
    return outside_units(profile, source, PROFILE_OUTSIDE_ALL);
}

void
profile_set_outside(const struct profile *profile, enum profile_outside modes,
                    uint64_t *counters)
{
    for (size_t i = 0; i < profile->source_count; i++) {
        const struct profile_source *const source = &profile->sources[i];

        counters[i] = outside_units(profile, source, modes);
        for (size_t k = 0; k < source->part_count; k++) {
            counters[source->first_part + k] =
                outside_in(profile, &source->parts[k], modes);
        }
    }
}

double
profile_variance(const struct profile_source *source, size_t index,
                 const uint64_t *counters)
{
    double variance = 0;

    for (size_t k = 0; k < source->part_count; k++) {
        const double factor = (double)factor_of(source, &source->parts[k]);

        variance += (double)counters[source->first_part + k] * factor * factor;
    }
    return source->part_count > 0 ? variance : (double)counters[index];
}

double
profile_units_of_hit(const struct profile *profile, size_t source)
{
    const struct profile_source *const of = &profile->sources[source];
    double variance = 0;
    double units = 0;

    for (size_t i = 0; i < profile->row_count && of->part_count > 0; i++) {
        variance += profile_variance(of, source, profile->rows[i].hits);
        units += (double)profile->rows[i].hits[source];
    }
    return units > 0 ? variance / units : 1;
}

/* ---- buckets ---- */

uint64_t
profile_bucket_start(const struct profile *profile, const struct profile_image *image,
                     uint64_t address)
{
    const uint64_t bytes = profile->bucket_bytes;

    if (profile->bucket_least == 0 || bytes == 0) {
        return address;
    }
    if (bytes <= PAGE_BYTES || address < image->start) {
        return address - address % bytes;
    }
    return address - (address - image->start) % bytes;
}

void
profile_join_buckets(struct profile *profile)
{
    for (size_t i = 0; i < profile->row_count; i++) {
        struct profile_row *const row = &profile->rows[i];

        row->address =
            profile_bucket_start(profile, &profile->images[row->image], row->address);
    }
    profile->bucket_least = 0;
}
