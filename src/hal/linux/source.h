/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/source.h - profile sources: which kernel event each is, and its limits.
 *
 * A fixed table, and behind it the sources made by name (breakpoints, raw events).
 * Intervals are in the source's unit; native values (periods, counts) are nanoseconds
 * for PERF_UNIT_100NS.
 */
#ifndef HAL_LINUX_SOURCE_H
#define HAL_LINUX_SOURCE_H

#include "hal/linux/statistics.h"
#include "hal/linux/uprobe.h"

#include <linux/perf_event.h>
#include <ntprof/source.h>
#include <stdbool.h>

struct perf_source {
    KPROFILE_SOURCE number;
    char name[48];    /* of a uprobe whose image does not fit: the end of its path */
    char nt_name[48]; /* "" for ntprof's own */
    uint32_t unit;    /* NTPROF_UNIT_... */
    bool kernel_only; /* counts only in kernel mode */

    /* What perf_event_open is asked for. */
    uint32_t type;
    uint64_t config;
    uint64_t breakpoint_address; /* PERF_TYPE_BREAKPOINT */
    struct perf_uprobe *uprobe; /* owned; NULL: none. config is there once it is made */

    uint64_t interval;
    uint64_t interval_asked; /* 0: nobody asked */
    uint64_t interval_default;
    uint64_t interval_minimum;
    uint64_t interval_maximum;

    /* Found out when first asked for. */
    bool probed;
    bool supported;
    bool kernel_included;
    char reason[192];

    struct perf_tally tally;
};

struct perf_sources {
    struct perf_source **items;
    size_t count;
    size_t capacity;
    KPROFILE_SOURCE next_number; /* for the next one made by name */
};

/*
 * perf_sources_init - the fixed ones.
 *
 *   sample_rate_max  in: perf_event_max_sample_rate, Hz; bounds the interval of time
 *
 * Returns 0 or -ENOMEM.
 */
int perf_sources_init(struct perf_sources *sources, long sample_rate_max);
void perf_sources_finish(struct perf_sources *sources);

/* perf_sources_find - by number; NULL if there is none. */
struct perf_source *perf_sources_find(const struct perf_sources *sources,
                                      KPROFILE_SOURCE number);

/*
 * perf_sources_lookup - by name, NT name, "breakpoint:0xADDRESS", "raw:0xCONFIG" or
 * "uprobe:IMAGE+OFFSET"; the latter three are made when they are first named. Case does
 * not matter but in IMAGE.
 *
 * Returns 0; -EINVAL for a bad parameter; -ENOENT; -ENOMEM; -ENOSPC with no number
 * left.
 */
int perf_sources_lookup(struct perf_sources *sources, const char *text,
                        struct perf_source **source);

/* perf_source_set_interval - clamp and keep; what was asked is remembered. */
void perf_source_set_interval(struct perf_source *source, uint64_t interval);

/* perf_source_period - an interval in the kernel's unit. */
uint64_t perf_source_period(const struct perf_source *source);

/*
 * perf_source_answer - keep whether the kernel has a source: 0 or negative errno. A
 * want of descriptors or memory is no answer: until there is one the source passes for
 * supported, and who starts it is told. Returns whether it is supported.
 */
bool perf_source_answer(struct perf_source *source, int result);

/* perf_source_attr - what this source asks of perf_event_open; the rest of attr is
 * kept. */
void perf_source_attr(const struct perf_source *source, struct perf_event_attr *attr);

#endif
