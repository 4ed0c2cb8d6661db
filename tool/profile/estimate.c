/* SPDX-License-Identifier: MIT */
/* estimate.c - estimates of time and events from hits. */
#include "profile/estimate.h"

#include "profile/pprof_fields.h"

#include <math.h>
#include <string.h>

#define NS_PER_100NS 100.0

bool
report_is_time(const struct profile_source *source)
{
    return strcmp(source->unit, UNIT_100NS) == 0;
}

bool
report_is_value(const struct profile_source *source)
{
    return !report_is_time(source) && strcmp(source->unit, "events") != 0;
}

const char *
report_numbers(const struct profile_source *source)
{
    return report_is_value(source) ? source->unit : "hits";
}

const char *
report_unit(const struct profile_source *source)
{
    return report_is_time(source) ? "ns" : source->unit;
}

/* Add the hits that a source took, and these together with those that are missing, each
 * times the interval, to two sums. */
static void
add_taken(const struct profile_source *source, double *taken, double *all)
{
    const double interval = (double)source->granted;

    *taken += (double)source->taken * interval;
    *all += ((double)source->taken + (double)source->lost + (double)source->throttled +
             (double)source->missed) *
            interval;
}

double
report_interval(const struct profile_source *source)
{
    double interval = (double)source->granted;
    double taken = 0;
    double all = 0;

    for (size_t i = 0; i < source->part_count; i++) {
        add_taken(&source->parts[i], &taken, &all);
    }
    if (source->part_count == 0) {
        add_taken(source, &taken, &all);
    }
    if (taken > 0) {
        interval *= all / taken;
    }
    return report_is_time(source) ? interval * NS_PER_100NS : interval;
}

bool
report_is_exact(const struct profile_source *source)
{
    return !report_is_time(source) && source->part_count == 0 && source->granted == 1 &&
           source->lost == 0 && source->throttled == 0 && source->missed == 0;
}

double
report_error(double hits, double total)
{
    const double z = REPORT_DEVIATIONS_95;
    const double n = total;
    const double p = n > 0 ? hits / n : 0;
    double middle;
    double half;

    if (!(total > 0)) {
        return 0;
    }
    middle = (p + z * z / (2 * n)) / (1 + z * z / n);
    half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    return fabs(middle - p) + half;
}

/* unit - a factor and the suffix of the number. */
struct unit {
    double factor;
    const char *name;
};

/* Print three digits in the largest unit in which the value is at least 1; whole
 * numbers in the first. */
static void
put_scaled(struct buffer *out, double value, const struct unit *units, size_t count)
{
    size_t at = 0;
    double scaled;

    /* 999.5 and above would be rounded to 1000. */
    while (at + 1 < count && value >= units[at + 1].factor * 0.9995) {
        at++;
    }
    scaled = value / units[at].factor;
    buffer_print(out, "%.*f%s",
                 at == 0 || scaled >= 99.95 ? 0
                 : scaled >= 9.995          ? 1
                                            : 2,
                 scaled, units[at].name);
}

void
report_put_time(struct buffer *out, double ns)
{
    static const struct unit units[] = {
        {1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}, {3.6e12, "h"},
    };

    if (!(ns > 0)) {
        buffer_append_text(out, "0s");
        return;
    }
    put_scaled(out, ns, units, sizeof(units) / sizeof(units[0]));
}

void
report_put_events(struct buffer *out, double events)
{
    static const struct unit units[] = {
        {1, ""},     {1e3, "k"},  {1e6, "M"},  {1e9, "G"},
        {1e12, "T"}, {1e15, "P"}, {1e18, "E"},
    };

    put_scaled(out, events, units, sizeof(units) / sizeof(units[0]));
}

/* Return the index of the source with ntprof's or NT's name, or source_count if there
 * is none. */
static size_t
find_source(const struct profile *profile, const char *name, const char *nt_name)
{
    size_t at = 0;

    while (at < profile->source_count && strcmp(profile->sources[at].name, name) != 0 &&
           strcmp(profile->sources[at].nt_name, nt_name) != 0) {
        at++;
    }
    return at;
}

static bool
ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text);

    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

bool
report_ratio_find(const struct profile *profile, size_t source,
                  struct report_ratio *ratio)
{
    const char *name = profile->sources[source].name;
    const size_t instructions =
        find_source(profile, "instructions", "ProfileTotalIssues");
    const size_t branches =
        find_source(profile, "branches", "ProfileBranchInstructions");

    *ratio = (struct report_ratio){.numerator = source, .denominator = instructions};
    if (instructions < profile->source_count &&
        source == find_source(profile, "cycles", "ProfileTotalCycles")) {
        ratio->per = 1;
        ratio->title = "/instr";
        ratio->unit = "per instruction";
    } else if (instructions < profile->source_count && ends_with(name, "misses")) {
        ratio->per = 1000;
        ratio->title = "/1k instr";
        ratio->unit = "per 1000 instructions";
    } else if (branches < profile->source_count &&
               source == find_source(profile, "branch-misses",
                                     "ProfileBranchMispredictions")) {
        ratio->denominator = branches;
        ratio->per = 100;
        ratio->title = "/100 branches";
        ratio->unit = "per 100 branches";
    }
    return ratio->per != 0;
}

bool
report_ratio_value(const struct profile *profile, const struct report_ratio *ratio,
                   const struct report_count *numerator,
                   const struct report_count *denominator, double *value)
{
    const double above = report_interval(&profile->sources[ratio->numerator]);
    const double below = report_interval(&profile->sources[ratio->denominator]);

    if (numerator->hits < REPORT_RATIO_HITS_MIN ||
        denominator->hits < REPORT_RATIO_HITS_MIN || !(above > 0) || !(below > 0)) {
        return false;
    }
    *value = (double)numerator->units * above / ((double)denominator->units * below) *
             ratio->per;
    return true;
}
