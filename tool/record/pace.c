/* SPDX-License-Identifier: MIT */
/* pace.c - computes the interval from the measured cost, and again while the recording
 * runs. */
#include "record/pace.h"
#include "record/rate.h"

#include <stdio.h>

/* Hits take at most 1 / MAX_SHARE of the time with -F max, and 1 / GUARD_SHARE of
 * it with the guard. */
enum { MAX_SHARE = 3, GUARD_SHARE = 2 };

/* Hits at intervals of 100 us and more leave programs enough time on any machine, so
 * that their cost is not measured. */
enum { GUARD_BELOW_100NS = 1000 };

/* At 4 kHz and more, the share of time that hits take is reported if it is at least so
 * many percent. */
enum { SAID_FROM_100NS = 2500 };
static const double said_from_percent = 5;

/* Fewer hits say too little about what they cost. */
enum { HITS_MIN = 50 };

/* Times after which the interval is first adapted. A program without time must not
 * wait long for the guard; with --max-overhead each adaptation measures, which takes
 * 10 ms of a processor. */
static const uint64_t guard_after_ns = 50000000;
static const uint64_t measure_after_ns = 1000000000;

/* Return the shortest interval at which hits take no more than 1 /
 * GUARD_SHARE of the time. */
static uint64_t
guard_100ns(const struct pace *pace)
{
    return (GUARD_SHARE * pace->hit_ns + 99) / 100;
}

/* Return the interval at which hits take the percentage of --max-overhead of the time:
 * the 100 of percent and that of 100 ns cancel each other. */
static uint64_t
overhead_100ns(const struct pace *pace)
{
    const double interval = (double)pace->hit_ns / pace->options->overhead_percent;

    return interval < 1 ? 1 : (uint64_t)(interval + 0.5);
}

/* Lengthen the interval if hits would leave a thread less than half of its time, or
 * might do so as their cost cannot be measured. */
static void
apply_guard(struct pace *pace)
{
    if (pace->options->no_guard || pace->interval_100ns >= GUARD_BELOW_100NS) {
        return;
    }
    if (pace->hit_ns == 0) {
        pace->hit_ns = rate_measure(pace->hal);
    }
    if (pace->hit_ns == 0) {
        pace->interval_100ns = GUARD_BELOW_100NS;
        pace->reason = PACE_UNMEASURED;
    } else if (pace->interval_100ns < guard_100ns(pace)) {
        pace->interval_100ns = guard_100ns(pace);
        pace->reason = PACE_GUARD;
    }
}

/* Whether source time is one of those to record. */
static bool
has_time(const struct record_options *options)
{
    for (size_t i = 0; i < options->source_count; i++) {
        if (record_source_is_time(options->sources[i])) {
            return true;
        }
    }
    return false;
}

void
pace_choose(struct pace *pace, const struct record_options *options, const char *hal)
{
    /* With --no-guard, -F max is the interval of the options: the shortest. */
    const bool maximum = options->rate_max && !options->no_guard;

    *pace = (struct pace){
        .options = options, .hal = hal, .interval_100ns = options->interval_100ns};
    if (!has_time(options)) {
        return;
    }
    if (maximum || options->overhead_percent > 0) {
        pace->hit_ns = rate_measure(hal);
    }
    if (pace->hit_ns != 0 && options->overhead_percent > 0) {
        pace->reason = PACE_OVERHEAD;
        pace->interval_100ns = overhead_100ns(pace);
    } else if (pace->hit_ns != 0) {
        pace->reason = PACE_MAX;
        pace->interval_100ns = (MAX_SHARE * pace->hit_ns + 99) / 100;
    } else if (options->overhead_percent > 0) {
        pace->reason = PACE_UNMEASURED;
    } else { /* the interval is as given, unless the guard lengthens it */
        if (pace->interval_100ns <= SAID_FROM_100NS) {
            pace->hit_ns = rate_measure(hal);
        }
        apply_guard(pace);
    }
}

void
pace_change(struct pace *pace, uint64_t interval_100ns)
{
    pace->reason = PACE_ASKED;
    pace->interval_100ns = interval_100ns;
    apply_guard(pace);
}

uint64_t
pace_adapts_ns(const struct pace *pace)
{
    if (pace->hit_ns == 0) {
        return 0;
    }
    if (pace->reason == PACE_OVERHEAD) {
        return measure_after_ns;
    }
    return pace->options->no_guard ? 0 : guard_after_ns;
}

/* Whether most hits were missed, as interrupts took longer than the interval. */
static bool
misses_most(const struct pace *pace, const struct pace_sample *recent)
{
    return !pace->options->no_guard && recent->missed > recent->expected / 2;
}

/* Whether the intervals differ by more than a quarter: a change costs more than a
 * smaller difference. */
static bool
differs_much(uint64_t interval, uint64_t other)
{
    return interval > other + other / 4 || interval < other - other / 4;
}

/* Measure the cost of a hit again, and choose the interval by it. Returns
 * whether it changed. */
static bool
adapt_overhead(struct pace *pace)
{
    const uint64_t interval = pace->interval_100ns;
    const uint64_t hit_ns = rate_measure(pace->hal);

    if (hit_ns == 0) {
        return false;
    }
    pace->hit_ns = hit_ns;
    if (differs_much(overhead_100ns(pace), interval)) {
        pace->interval_100ns = overhead_100ns(pace);
    }
    return pace->interval_100ns != interval;
}

bool
pace_adapt(struct pace *pace, const struct pace_sample *now)
{
    const struct pace_sample recent = {
        .expected = now->expected - pace->before.expected,
        .taken = now->taken - pace->before.taken,
        /* It is computed, and may become smaller. */
        .missed =
            now->missed > pace->before.missed ? now->missed - pace->before.missed : 0,
    };

    if (recent.taken >= HITS_MIN) {
        pace->before = *now;
        if (misses_most(pace, &recent)) {
            /* A hit takes more than was measured; how much is not known. */
            pace->hit_ns *= 2;
            pace->interval_100ns *= 2;
            pace->reason = pace->reason == PACE_ASKED ? PACE_GUARD : pace->reason;
            return true;
        }
    }
    return pace->reason == PACE_OVERHEAD && adapt_overhead(pace);
}

/* tool/view/report/rates.c searches for "a hit costs" and for "what a hit costs cannot
 * be measured". */
void
pace_describe(const struct pace *pace, uint64_t granted_100ns, char *text, size_t size)
{
    const double granted_hz = granted_100ns > 0 ? 1e7 / (double)granted_100ns : 0;
    const double hit_us = (double)pace->hit_ns / 1000;
    /* as in overhead_100ns */
    const double share_percent =
        granted_100ns > 0 ? (double)pace->hit_ns / (double)granted_100ns : 0;

    text[0] = '\0';
    switch (pace->reason) {
    case PACE_ASKED:
        if (share_percent >= said_from_percent) {
            snprintf(text, size,
                     "at %.0f Hz hits take about %.0f%% of the program's time, %.1f us "
                     "each: a lower -F takes less",
                     granted_hz, share_percent, hit_us);
        }
        break;
    case PACE_GUARD:
        snprintf(
            text, size,
            "granted %.0f Hz: a hit costs %.1f us here, and the program keeps half "
            "of its time; --no-guard turns that off",
            granted_hz, hit_us);
        break;
    case PACE_MAX:
        snprintf(text, size,
                 "granted %.0f Hz by -F max: a hit costs %.1f us here, and all take a "
                 "third of the time at most",
                 granted_hz, hit_us);
        break;
    case PACE_OVERHEAD:
        snprintf(text, size,
                 "granted %.0f Hz by --max-overhead %.10g%%: a hit costs %.1f us here",
                 granted_hz, pace->options->overhead_percent, hit_us);
        break;
    case PACE_UNMEASURED:
        snprintf(text, size, "what a hit costs cannot be measured here, so %s",
                 pace->options->overhead_percent > 0
                     ? "--max-overhead is not applied"
                     : "10 kHz is the most without --no-guard");
        break;
    }
}
