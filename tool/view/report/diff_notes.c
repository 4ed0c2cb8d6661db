/* SPDX-License-Identifier: MIT */
/* diff_notes.c - the lines below a difference: what was compared, and what limits the
 * comparison. */
#include "profile/chance.h"
#include "profile/estimate.h"
#include "profile/stack_ends.h"
#include "view/report/difference.h"
#include "view/report/rates.h"

#include "base/arithmetic.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* Run times that differ by more than this, in percent, are reported. */
#define DURATION_PERCENT 10.0

static const char *const SIDE_NAMES[] = {"old", "new"};

/* Put how many hits one side has, and of what. */
static void
put_side(struct buffer *line, const struct diff_source *source, unsigned side)
{
    const struct profile_source *statistics = source->of->sides[side];

    if (report_is_value(statistics)) {
        buffer_print(line, "%s %" PRIu64 " ", SIDE_NAMES[side],
                     source->of->totals[side]);
        text_escape(line, statistics->unit);
        return;
    }
    buffer_print(line, "%s %" PRIu64 " hit%s", SIDE_NAMES[side],
                 source->of->total_hits[side],
                 source->of->total_hits[side] == 1 ? "" : "s");
    if (source->known && statistics->part_count > 0) {
        buffer_append_text(line, " ");
        report_put_granted(line, statistics);
    } else if (source->known) {
        buffer_append_text(line, " of ");
        if (report_is_time(statistics)) {
            report_put_time(line, source->intervals[side]);
        } else {
            report_put_events(line, source->intervals[side]);
            buffer_append_text(line,
                               source->intervals[side] > 1 ? " events" : " event");
        }
    }
    if (statistics->outside > 0) {
        buffer_print(line, " (%" PRIu64 " in no row)", statistics->outside);
    }
}

static void
put_missing(struct buffer *line, const struct diff_source *source, unsigned side)
{
    const struct profile_source *statistics = source->of->sides[side];
    uint64_t missing = statistics->lost;

    add_clamped(&missing, statistics->throttled);
    add_clamped(&missing, statistics->missed);
    if (missing > 0) {
        buffer_print(line, ", %s lacks %" PRIu64, SIDE_NAMES[side], missing);
    }
}

static void
put_source(struct buffer *line, const struct diff *diff,
           const struct diff_source *source)
{
    buffer_append_text(line, "ntprof: ");
    text_escape(line, diff_source_name(source));
    buffer_append_text(line, ": ");
    put_side(line, source, PAIR_OLD);
    buffer_append_text(line, ", ");
    put_side(line, source, PAIR_NEW);
    put_missing(line, source, PAIR_OLD);
    put_missing(line, source, PAIR_NEW);
    buffer_print(line, "; %zu row%s changed beyond chance\n", source->beyond_count,
                 source->beyond_count == 1 ? "" : "s");
    if (report_is_value(source->of->sides[PAIR_OLD])) {
        buffer_append_text(line, "ntprof: ");
        text_escape(line, diff_source_name(source));
        buffer_append_text(line, ": chance is judged as if each of the ");
        text_escape(line, source->of->sides[PAIR_OLD]->unit);
        buffer_append_text(line, " were a hit: read it as a hint\n");
    }
    if (!source->known && !diff->options->normalize) {
        buffer_append_text(line, "ntprof: ");
        text_escape(line, diff_source_name(source));
        buffer_append_text(line,
                           ": a profile does not say what a hit stands for: hits are "
                           "compared as if it were the same\n");
    }
}

/* Say how far totals may be wrong, or why there are none. */
static void
put_unknown(struct buffer *lines, const struct diff *diff,
            const struct diff_source *source)
{
    const bool old_stacks = profile_has_stacks(diff->pair.sides[PAIR_OLD]);
    const bool new_stacks = profile_has_stacks(diff->pair.sides[PAIR_NEW]);
    bool unknown = false;

    if (source->totals == NULL) {
        if (old_stacks != new_stacks) {
            buffer_print(lines, "ntprof: only the %s profile has stacks: no totals\n",
                         SIDE_NAMES[old_stacks ? PAIR_OLD : PAIR_NEW]);
        }
        return;
    }
    buffer_append_text(lines, "ntprof: ");
    text_escape(lines, diff_source_name(source));
    for (unsigned side = 0; side < PAIR_SIDES; side++) {
        if (source->unknown[side] > 0) {
            buffer_append_text(lines, unknown ? " and " : ": callers are missing of ");
            stack_ends_put_share(lines, source->unknown[side],
                                 source->of->totals[side]);
            buffer_print(lines, "of %s", SIDE_NAMES[side]);
            unknown = true;
        }
    }
    buffer_print(lines, "%s in parentheses changed no more than %schance explains\n",
                 unknown ? ", so totals are lower bounds; one" : ": a total",
                 unknown ? "these or " : "");
}

/* Report that the rights differ: code that one side could not see appears as new or
 * gone. */
static void
put_kernel(struct buffer *lines, const struct diff_source *source)
{
    const bool old_kernel = source->of->sides[PAIR_OLD]->kernel_included;

    if (old_kernel != source->of->sides[PAIR_NEW]->kernel_included) {
        buffer_append_text(lines, "ntprof: warning: ");
        text_escape(lines, diff_source_name(source));
        buffer_print(lines,
                     ": the %s profile has only user mode, the other the kernel too\n",
                     SIDE_NAMES[old_kernel ? PAIR_NEW : PAIR_OLD]);
    }
}

/* List the sources that only one side has. */
static void
put_others(struct buffer *lines, const struct diff *diff, unsigned side)
{
    const struct profile *const profile = diff->pair.sides[side];
    const struct profile *const other = diff->pair.sides[PAIR_SIDES - 1 - side];
    /* Its first letter says whether the line has begun. */
    const char *before = "ntprof: not compared, as only the ";

    for (size_t i = 0; i < profile->source_count; i++) {
        if (profile_find_source(other, profile->sources[i].name) != NULL) {
            continue;
        }
        buffer_append_text(lines, before);
        if (before[0] == 'n') {
            buffer_print(lines, "%s profile has it: ", SIDE_NAMES[side]);
        }
        text_escape(lines, profile->sources[i].name);
        before = ", ";
    }
    buffer_append_text(lines, before[0] == ',' ? "\n" : "");
}

/* List the sources that count something else on each side. */
static void
put_other_units(struct buffer *lines, const struct diff *diff)
{
    const struct profile *const profile = diff->pair.sides[PAIR_OLD];

    for (size_t i = 0; i < profile->source_count; i++) {
        const struct profile_source *const mine = &profile->sources[i];
        const struct profile_source *const other =
            profile_find_source(diff->pair.sides[PAIR_NEW], mine->name);

        if (other == NULL || strcmp(mine->unit, other->unit) == 0) {
            continue;
        }
        buffer_append_text(lines, "ntprof: not compared, as the units differ: ");
        text_escape(lines, mine->name);
        buffer_append_text(lines, " (old ");
        text_escape(lines, mine->unit);
        buffer_append_text(lines, ", new ");
        text_escape(lines, other->unit);
        buffer_append_text(lines, ")\n");
    }
}

static void
put_durations(struct buffer *lines, const struct diff *diff)
{
    const double old_ns = (double)diff->pair.sides[PAIR_OLD]->duration_ns;
    const double new_ns = (double)diff->pair.sides[PAIR_NEW]->duration_ns;
    const double longer = old_ns > new_ns ? old_ns : new_ns;
    const double shorter = old_ns > new_ns ? new_ns : old_ns;

    if (diff->options->normalize || !(shorter > 0) ||
        (longer - shorter) * 100 <= longer * DURATION_PERCENT) {
        return;
    }
    buffer_append_text(lines, "ntprof: old was recorded for ");
    report_put_time(lines, old_ns);
    buffer_append_text(lines, ", new for ");
    report_put_time(lines, new_ns);
    buffer_append_text(lines,
                       ": if they did not do the same work, --normalize compares "
                       "shares\n");
}

static void
put_gaps(struct buffer *lines, const struct diff *diff, unsigned side)
{
    const char *gaps = diff->pair.sides[side]->gaps;

    if (gaps != NULL && gaps[0] != '\0') {
        buffer_print(lines, "ntprof: warning: %s: ", SIDE_NAMES[side]);
        text_escape(lines, gaps);
        buffer_append_text(lines, "\n");
    }
}

bool
diff_print_notes(FILE *out, const struct diff *diff)
{
    struct buffer lines = {0};
    bool done;

    for (size_t i = 0; i < diff->source_count; i++) {
        put_source(&lines, diff, &diff->sources[i]);
        put_unknown(&lines, diff, &diff->sources[i]);
        put_kernel(&lines, &diff->sources[i]);
    }
    for (unsigned side = 0; side < PAIR_SIDES; side++) {
        put_others(&lines, diff, side);
        put_gaps(&lines, diff, side);
    }
    put_other_units(&lines, diff);
    put_durations(&lines, diff);
    done = !lines.failed;
    if (done && lines.size > 0) {
        fwrite(lines.data, 1, lines.size, out);
    }
    buffer_finish(&lines);
    return done;
}
