/* SPDX-License-Identifier: MIT */
/* rates.c - rates asked for, granted and measured. */
#include "view/report/rates.h"

#include "base/text.h"
#include "profile/estimate.h"
#include "view/report/summary.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Rates that differ by more than this percentage are reported. */
#define DIFFERENCE_PERCENT_MAX 5.0

/* A cause of less than this percentage is not mentioned. */
#define CAUSE_PERCENT_MIN 0.5

void
report_put_interval(struct buffer *line, const struct profile_source *source,
                    double interval)
{
    if (!report_is_time(source)) {
        buffer_print(line, "every %.10g event%s", interval, interval > 1 ? "s" : "");
    } else if (interval > 1e6) {
        buffer_print(line, "%.3g Hz", 1e7 / interval);
    } else {
        buffer_print(line, "%.0f Hz", interval > 0 ? 1e7 / interval : 0);
    }
}

/* Append one of several intervals, precisely enough that different ones look different
 * ("12.5 Hz", not "12 Hz"). */
static void
put_part(struct buffer *line, const struct profile_source *source, double interval)
{
    if (report_is_time(source) && interval > 1e5) {
        buffer_print(line, "%.3g Hz", 1e7 / interval);
    } else {
        report_put_interval(line, source, interval);
    }
}

/* Of more intervals only the number is shown. */
enum { INTERVALS_SHOWN = 4 };

static void
put_intervals(struct buffer *line, const struct profile_source *source)
{
    buffer_print(line, "at %zu %s: ", source->part_count,
                 report_is_time(source) ? "rates" : "intervals");
    for (size_t i = 0; i < source->part_count && i < INTERVALS_SHOWN; i++) {
        buffer_append_text(line, i > 0 ? ", " : "");
        put_part(line, source, (double)source->parts[i].granted);
    }
    if (source->part_count > INTERVALS_SHOWN) {
        buffer_print(line, " and %zu more", source->part_count - INTERVALS_SHOWN);
    }
    buffer_append_text(line, report_is_time(source) ? " (shares are of time)"
                                                    : " (shares are of events)");
}

void
report_put_granted(struct buffer *line, const struct profile_source *source)
{
    if (source->part_count > 0) {
        put_intervals(line, source);
    } else {
        report_put_interval(line, source, (double)source->granted);
    }
}

void
report_put_units(struct buffer *lines, const char *command,
                 const struct profile *profile)
{
    for (size_t i = 0; i < profile->source_count; i++) {
        const struct profile_source *const source = &profile->sources[i];

        if (source->part_count > 0) {
            buffer_print(lines, "ntprof: %s: ", command);
            text_escape(lines, source->name);
            buffer_append_byte(lines, ' ');
            put_intervals(lines, source);
            buffer_append_text(lines, "; its numbers are hits of ");
            put_part(lines, source, (double)source->granted);
            buffer_append_byte(lines, '\n');
        }
    }
}

void
report_put_rates(struct buffer *line, const struct profile_source *source)
{
    if (source->part_count > 0) {
        put_intervals(line, source);
        return;
    }
    if (source->asked > 0) {
        buffer_append_text(line, "asked ");
        report_put_interval(line, source, (double)source->asked);
    } else {
        buffer_append_text(line, "default rate");
    }
    if (source->granted > 0) {
        buffer_append_text(line, ", granted ");
        report_put_interval(line, source, (double)source->granted);
    }
    if (source->measured > 0) {
        buffer_append_text(line, ", measured ");
        report_put_interval(line, source, source->measured);
    }
}

/* Return by how many percent the rate of an interval differs from that of another. */
static double
rate_difference(double interval, double from)
{
    return (from / interval - 1) * 100;
}

/* Append, without a newline, that what (such as "was granted") is this far from another
 * interval. kind: "warning: " or "". */
static void
put_difference(struct buffer *lines, const struct profile_source *source,
               const char *kind, const char *what, double interval, double from)
{
    const double difference = rate_difference(interval, from);

    buffer_print(lines, "ntprof: %s", kind);
    text_escape(lines, source->name);
    buffer_print(lines, " %s ", what);
    report_put_interval(lines, source, interval);
    buffer_print(lines, ", %.0f%% %s ", fabs(difference),
                 difference < 0 ? "below" : "above");
    report_put_interval(lines, source, from);
}

/* Return why the interval is not the one asked for. It is found by words in
 * profile->limits that tool/record/pace.c and preload.c write there. */
static const char *
find_cause(const struct profile *profile)
{
    const char *const limits = profile->limits != NULL ? profile->limits : "";

    if (strstr(limits, "kernel tick") != NULL) {
        return "because of the kernel tick";
    }
    if (strstr(limits, "what a hit costs cannot be measured") != NULL) {
        return "because what a hit costs cannot be measured here";
    }
    return strstr(limits, "a hit costs") != NULL
               ? "because of what a hit costs here"
               : "the nearest that the back end and the kernel have";
}

static void
put_granted_warning(struct buffer *lines, const struct profile *profile,
                    const struct profile_source *source)
{

    if (source->asked == 0 || source->granted == 0 ||
        fabs(rate_difference((double)source->granted, (double)source->asked)) <=
            DIFFERENCE_PERCENT_MAX) {
        return;
    }
    put_difference(lines, source, "warning: ", "was granted", (double)source->granted,
                   (double)source->asked);
    buffer_print(lines, ": %s\n", find_cause(profile));
}

static double
percent_of(uint64_t part, const struct profile_source *source)
{
    return source->expected > 0 ? (double)part * 100 / (double)source->expected : 0;
}

/* Append what is known of why the measured rate differs from the granted one, after a
 * colon. A changed interval is found by words that tool/record/describe.c writes into
 * profile->gaps. */
static void
put_causes(struct buffer *lines, const struct profile *profile,
           const struct profile_source *source)
{
    const struct {
        uint64_t hits;
        const char *what;
    } causes[] = {
        {source->throttled, "throttled by the kernel"},
        {source->lost, "lost, as rings were full"},
        {source->missed, report_is_time(source)
                             ? "missed, as timers were late"
                             : "missed: counted by the kernel, but not reported"},
        {source->unfinished, "cut short at the end of threads"},
        {source->excluded, "in kernel mode, cut short or missed: not seen"},
    };
    bool any =
        profile->gaps != NULL && strstr(profile->gaps, "the interval changed") != NULL;

    if (any) {
        buffer_append_text(lines, ": the interval changed");
    }
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        const double percent = percent_of(causes[i].hits, source);

        if (percent >= CAUSE_PERCENT_MIN) {
            buffer_print(lines, "%s%.1f%% %s", any ? ", " : ": ", percent,
                         causes[i].what);
            any = true;
        }
    }
}

/* Warn if the measured rate differs from the one granted. Differences that only come
 * from kernel mode and ends of threads are no fault: they are reported, without
 * "warning", only if verbose. */
static void
put_measured_warning(struct buffer *lines, const struct profile *profile,
                     const struct profile_source *source, bool verbose)
{
    const bool faulty = percent_of(source->throttled, source) +
                            percent_of(source->lost, source) +
                            percent_of(source->missed, source) >
                        CAUSE_PERCENT_MIN;

    if ((!faulty && !verbose) || source->taken < REPORT_FEW_HITS ||
        source->granted == 0 || !(source->measured > 0) ||
        fabs(rate_difference(source->measured, (double)source->granted)) <=
            DIFFERENCE_PERCENT_MAX) {
        return;
    }
    put_difference(lines, source, faulty ? "warning: " : "", "was measured at",
                   source->measured, (double)source->granted);
    put_causes(lines, profile, source);
    buffer_append_text(lines, "\n");
}

void
report_put_rate_warnings(struct buffer *lines, const struct profile *profile,
                         const struct profile_source *source, bool verbose)
{
    if (source->part_count > 0) {
        return; /* each part has its own rate */
    }
    put_granted_warning(lines, profile, source);
    put_measured_warning(lines, profile, source, verbose);
}
