/* SPDX-License-Identifier: MIT */
/*
 * difference.c - the difference of two profiles: values, chances, order.
 *
 * Rows are sorted by weight, the least amount by which a row changed: the size of the
 * change minus its error. So a large but uncertain change of few hits is not above a
 * certain one.
 */
#include "profile/difference.h"

#include "base/arithmetic.h"
#include "profile/chance.h"
#include "profile/difference_rows.h"
#include "profile/estimate.h"
#include "profile/join.h"
#include "profile/stack_ends.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- values --- */

/* Find how many ns or events a unit of each side stands for. If that is not known of
 * one side, plain hits are compared. */
static void
find_intervals(struct diff_source *source)
{
    for (unsigned side = 0; side < PAIR_SIDES; side++) {
        source->intervals[side] = report_interval(source->of->sides[side]);
    }
    source->known = source->intervals[PAIR_OLD] > 0 && source->intervals[PAIR_NEW] > 0;
    if (!source->known) {
        source->intervals[PAIR_OLD] = source->intervals[PAIR_NEW] = 1;
    }
}

static double
share_of(uint64_t units, uint64_t total)
{
    return total > 0 ? (double)units / (double)total : 0;
}

/* Return how many units a hit of one side represents on average: its variance divided
 * by its units. */
static double
units_of_hit(const struct diff_source *source, unsigned side)
{
    const double total = (double)source->of->totals[side];

    return total > 0 ? source->of->variances[side] / total : 1;
}

/* Return how many hits of one size have the same error as these units. */
static uint64_t
equal_hits(const struct diff_source *source, unsigned side, uint64_t units)
{
    const double hits = (double)units / units_of_hit(source, side);

    return hits < (double)UINT64_MAX ? (uint64_t)(hits + 0.5) : UINT64_MAX;
}

/* Set the values of both sides, their difference and its error: shares if normalized,
 * otherwise the units that the hits represent. */
static void
set_values(const struct diff_source *source, bool normalize, struct diff_row *row)
{
    double variance = 0;

    for (unsigned side = 0; side < PAIR_SIDES; side++) {
        const uint64_t total = source->of->totals[side];
        const double interval = source->intervals[side];
        const double share = share_of(row->units[side], total);

        row->values[side] = normalize ? share : (double)row->units[side] * interval;
        if (!normalize) {
            variance += row->variances[side] * interval * interval;
        } else if (total > 0) {
            variance +=
                share * (1 - share) * units_of_hit(source, side) / (double)total;
        }
    }
    row->change = row->values[PAIR_NEW] - row->values[PAIR_OLD];
    row->error = REPORT_DEVIATIONS_95 * sqrt(variance);
}

/* Return the probability that the change of a row is due to chance: of its shares if
 * normalized, else of its units. */
static double
chance_of_row(const struct diff_source *source, bool normalize,
              const struct diff_row *row)
{
    uint64_t hits[PAIR_SIDES];
    uint64_t totals[PAIR_SIDES];
    double intervals[PAIR_SIDES];

    for (unsigned side = 0; side < PAIR_SIDES; side++) {
        /* The tests are for hits of one size. */
        hits[side] = equal_hits(source, side, row->units[side]);
        totals[side] = equal_hits(source, side, source->of->totals[side]);
        intervals[side] = source->intervals[side] * units_of_hit(source, side);
    }
    if (normalize) {
        return chance_of_shares(hits[PAIR_OLD], totals[PAIR_OLD], hits[PAIR_NEW],
                                totals[PAIR_NEW]);
    }
    /* A side with a shorter interval is expected to have more of the hits. */
    return chance_of_counts(hits[PAIR_OLD], hits[PAIR_NEW],
                            intervals[PAIR_OLD] /
                                (intervals[PAIR_OLD] + intervals[PAIR_NEW]));
}

/* Whether a row has enough hits on both sides together for a test of chance. */
static bool
is_tested(const struct diff_row *row)
{
    uint64_t hits;

    return __builtin_add_overflow(row->hits[PAIR_OLD], row->hits[PAIR_NEW], &hits) ||
           hits >= CHANCE_HITS_MIN;
}

static bool
total_is_beyond(const struct diff_row *row)
{
    return row->total != NULL && row->total->beyond_chance;
}

/* --- rows --- */

/* Set the hits and units of one side of a row from counters. In the pair each interval
 * of a joined source is a source of its own. */
static void
set_counts(const struct diff *diff, size_t number, unsigned side,
           const uint64_t *counters, struct diff_row *row)
{
    const struct pair_source *const of = &diff->pair.sources[number];
    struct profile_source source = *of->sides[side];
    const size_t column = PAIR_SIDES * number + side;

    source.first_part = of->parts_at[side];
    row->units[side] = counters[column];
    row->hits[side] = profile_hits(&source, column, counters);
    row->variances[side] = profile_variance(&source, column, counters);
}

static bool
has_hits(const struct diff_row *row)
{
    return row->hits[PAIR_OLD] > 0 || row->hits[PAIR_NEW] > 0;
}

/* Set the numbers of a row from counters. */
static void
set_numbers(const struct diff *diff, size_t number, const uint64_t *counters,
            struct diff_row *row)
{
    for (unsigned side = 0; side < PAIR_SIDES; side++) {
        set_counts(diff, number, side, counters, row);
    }
    set_values(&diff->sources[number], diff->options->normalize, row);
}

/* Return the probability that the change of a total is due to chance, if all stacks
 * that are not known whole are on the side that has less: so it is that of the least
 * change. 1: they explain it. */
static double
chance_of_total(const struct diff_source *source, bool normalize,
                const struct diff_row *total)
{
    const unsigned less = total->change > 0 ? PAIR_OLD : PAIR_NEW;
    const bool grew = total->change > 0;
    struct diff_row least = *total;

    add_clamped(&least.units[less], source->unknown[less]);
    if (least.units[less] > source->of->totals[less]) {
        least.units[less] = source->of->totals[less];
    }
    set_values(source, normalize, &least);
    if (grew ? least.change <= 0 : least.change >= 0) {
        return 1;
    }
    return chance_of_row(source, normalize, &least);
}

/* Make the rows of a source: the groups that have hits on either side, or are on stacks
 * with hits. */
static bool
make_rows(struct diff *diff, size_t number)
{
    struct diff_source *source = &diff->sources[number];
    const bool normalize = diff->options->normalize;

    source->rows = calloc(diff->groups.count + 1, sizeof(*source->rows));
    if (diff->groups.has_totals) {
        source->totals = calloc(diff->groups.count + 1, sizeof(*source->totals));
    }
    if (source->rows == NULL || (diff->groups.has_totals && source->totals == NULL)) {
        return false;
    }
    for (size_t i = 0; i < diff->groups.count; i++) {
        const struct report_group *group = &diff->groups.groups[i];
        const uint64_t *const counters = report_group_counters(&diff->groups, group);
        struct diff_row row = {.group = group};

        set_numbers(diff, number, counters, &row);
        if (source->totals != NULL) {
            struct diff_row *const total = &source->totals[source->row_count];

            total->group = group;
            set_numbers(diff, number, counters + diff->groups.width, total);
            total->chance = chance_of_total(source, normalize, total);
            row.total = total;
        }
        if (!has_hits(&row) && (row.total == NULL || !has_hits(row.total))) {
            continue;
        }
        row.chance = chance_of_row(source, normalize, &row);
        source->rows[source->row_count++] = row;
    }
    return true;
}

/* Find how much of each side is on stacks that are not known whole. */
static bool
find_unknown(struct diff *diff, size_t number)
{
    struct diff_source *const source = &diff->sources[number];
    bool done = true;

    for (unsigned side = 0; done && diff->pair.stacks && side < PAIR_SIDES; side++) {
        const struct profile *const profile = diff->pair.sides[side];
        struct stack_ends ends;

        done = stack_ends_find(
            profile, (size_t)(source->of->sides[side] - profile->sources), &ends);
        source->unknown[side] = ends.unknown;
        stack_ends_finish(&ends);
    }
    return done;
}

static int
compare_chances(const void *left, const void *right)
{
    const double a = **(double *const *)left;
    const double b = **(double *const *)right;

    return (a > b) - (a < b);
}

/* Correct the chances of rows for how many rows were tested, and mark the rows whose
 * change is beyond chance. Returns false if memory runs out. */
static bool
judge_rows(struct diff_row *rows, size_t row_count)
{
    double **chances = calloc(row_count + 1, sizeof(*chances));
    size_t count = 0;

    if (chances == NULL) {
        return false;
    }
    for (size_t i = 0; i < row_count; i++) {
        if (is_tested(&rows[i])) {
            chances[count++] = &rows[i].chance;
        }
    }
    qsort(chances, count, sizeof(*chances), compare_chances);
    chance_correct(chances, count);
    free(chances);
    for (size_t i = 0; i < row_count; i++) {
        rows[i].beyond_chance = is_tested(&rows[i]) && rows[i].chance < DIFF_LEVEL;
    }
    return true;
}

/* Judge the rows of a source, and their totals by themselves. */
static bool
judge_source(struct diff_source *source)
{
    if (!judge_rows(source->rows, source->row_count) ||
        (source->totals != NULL && !judge_rows(source->totals, source->row_count))) {
        return false;
    }
    for (size_t i = 0; i < source->row_count; i++) {
        if (source->rows[i].beyond_chance) {
            source->beyond_count++;
        } else if (total_is_beyond(&source->rows[i])) {
            source->total_beyond_count++;
        }
    }
    return true;
}

/* Return the least amount by which a row changed, by which rows are sorted; by their
 * totals if only these did. */
static double
weight(const struct diff_row *row)
{
    const struct diff_row *const by =
        !row->beyond_chance && total_is_beyond(row) ? row->total : row;

    return fabs(by->change) - by->error;
}

static int
compare_rows(const void *left, const void *right)
{
    const struct diff_row *a = left;
    const struct diff_row *b = right;

    if (a->beyond_chance != b->beyond_chance) {
        return a->beyond_chance ? -1 : 1;
    }
    if (!a->beyond_chance && total_is_beyond(a) != total_is_beyond(b)) {
        return total_is_beyond(a) ? -1 : 1;
    }
    if (weight(a) < weight(b) || weight(a) > weight(b)) {
        return weight(a) > weight(b) ? -1 : 1;
    }
    /* The index of the group makes the order reproducible. */
    return (a->group > b->group) - (a->group < b->group);
}

static void
add_side(struct diff_row *sum, const struct diff_row *row, unsigned side)
{
    add_clamped(&sum->hits[side], row->hits[side]);
    add_clamped(&sum->units[side], row->units[side]);
    sum->variances[side] += row->variances[side];
}

/* Sum up all rows, and separately those that may not have changed. */
static void
sum_rows(const struct diff *diff, struct diff_source *source)
{
    const bool normalize = diff->options->normalize;

    for (size_t i = 0; i < source->row_count; i++) {
        const struct diff_row *row = &source->rows[i];

        for (unsigned side = 0; side < PAIR_SIDES; side++) {
            add_side(&source->whole, row, side);
            if (!row->beyond_chance && !total_is_beyond(row)) {
                add_side(&source->rest, row, side);
            }
        }
    }
    set_values(source, normalize, &source->whole);
    set_values(source, normalize, &source->rest);
    source->whole.chance = chance_of_row(source, normalize, &source->whole);
    source->whole.beyond_chance = source->whole.chance < DIFF_LEVEL;
}

static bool
compare_sources(struct diff *diff)
{
    diff->source_count = diff->pair.source_count;
    diff->sources = calloc(diff->source_count + 1, sizeof(*diff->sources));
    if (diff->sources == NULL) {
        return false;
    }
    for (size_t i = 0; i < diff->source_count; i++) {
        struct diff_source *source = &diff->sources[i];

        source->of = &diff->pair.sources[i];
        find_intervals(source);
        if (!find_unknown(diff, i) || !make_rows(diff, i) || !judge_source(source)) {
            return false;
        }
        qsort(source->rows, source->row_count, sizeof(*source->rows), compare_rows);
        sum_rows(diff, source);
    }
    return true;
}

/* --- public functions --- */

struct diff *
diff_new(const struct profile *old_profile, const struct profile *new_profile,
         const struct diff_options *options)
{
    /* The pair has applied the filters. */
    const struct report_grouping grouping = {.keys = options->by.keys,
                                             .join_builds = true};
    struct diff *diff = calloc(1, sizeof(*diff));

    if (diff == NULL) {
        return NULL;
    }
    diff->options = options;
    if (!pair_init(&diff->pair, old_profile, new_profile, &options->by) ||
        !report_group_rows(diff->pair.joined, &grouping, &diff->groups) ||
        !compare_sources(diff)) {
        diff_delete(diff);
        return NULL;
    }
    return diff;
}

void
diff_delete(struct diff *diff)
{
    if (diff == NULL) {
        return;
    }
    for (size_t i = 0; diff->sources != NULL && i < diff->source_count; i++) {
        free(diff->sources[i].rows);
        free(diff->sources[i].totals);
    }
    free(diff->sources);
    report_groups_finish(&diff->groups);
    pair_finish(&diff->pair);
    free(diff);
}

size_t
diff_source_count(const struct diff *diff)
{
    return diff->source_count;
}

size_t
diff_row_count(const struct diff *diff)
{
    size_t count = 0;

    for (size_t i = 0; i < diff->source_count; i++) {
        count += diff->sources[i].row_count;
    }
    return count;
}

size_t
diff_rows_asked(const struct diff *diff, const struct diff_source *source)
{
    return diff->options->all ? source->row_count
                              : source->beyond_count + source->total_beyond_count;
}

size_t
diff_rows_shown(const struct diff *diff, const struct diff_source *source)
{
    const size_t asked = diff_rows_asked(diff, source);
    const size_t rows = diff->options->rows;

    return rows == 0 || rows > asked ? asked : rows;
}

const char *
diff_source_name(const struct diff_source *source)
{
    return source->of->sides[PAIR_OLD]->name;
}

double
diff_unknown_share(const struct diff_source *source, unsigned side)
{
    return share_of(source->unknown[side], source->of->totals[side]);
}

const char *
diff_row_kind(const struct diff_row *row)
{
    if (!has_hits(row) && row->total != NULL) {
        row = row->total;
    }
    if (row->hits[PAIR_OLD] == 0 || row->hits[PAIR_NEW] == 0) {
        return row->hits[PAIR_OLD] == 0 ? "new" : "gone";
    }
    return "changed";
}

bool
diff_grew(const struct diff *diff, double percent)
{
    for (size_t i = 0; i < diff->source_count; i++) {
        const struct diff_source *source = &diff->sources[i];
        const double old_all =
            (double)source->of->totals[PAIR_OLD] * source->intervals[PAIR_OLD];
        const double whole = diff->options->normalize ? 1 : old_all;

        /* Rows beyond chance come first. */
        for (size_t row = 0; row < source->beyond_count; row++) {
            if (source->rows[row].change * 100 > whole * percent) {
                return true;
            }
        }
    }
    return false;
}
