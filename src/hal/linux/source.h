/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/source.h - profile sources: the kernel event of each, and its limits.
 *
 * A fixed table, followed by the sources that were made by name (breakpoints, uprobes,
 * raw events). Intervals are in the source's unit; native values (periods, counts) are
 * nanoseconds for NTPROF_UNIT_100NS.
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
    char name[48];    /* a uprobe's has only the end of a long path */
    char nt_name[48]; /* "" for ntprof's own */
    uint32_t unit;    /* NTPROF_UNIT_... */
    bool kernel_only; /* counts only in kernel mode */

    /* For perf_event_open */
    uint32_t type;
    uint64_t config;
    uint64_t breakpoint_address; /* PERF_TYPE_BREAKPOINT */
    struct perf_uprobe *uprobe;  /* owned; NULL: none. It sets config when it is made */

    uint64_t interval;
    uint64_t interval_asked; /* 0: the default */
    uint64_t interval_default;
    uint64_t interval_minimum;
    uint64_t interval_maximum;

    bool probed; /* the next three are valid */
    bool supported;
    bool kernel_included;
    char reason[192];
    /* Negative errno: for lack of descriptors or memory there is no trace event yet, so
     * a start must fail; it is tried again each time. Only of uprobes. */
    int shortage;

    struct perf_tally tally;
};

struct perf_sources {
    struct perf_source **items;
    size_t count;
    KPROFILE_SOURCE next_number; /* for the next one made by name */
};

/*
 * perf_sources_init - make the fixed table.
 *
 *   sample_rate_max  in: perf_event_max_sample_rate, Hz; bounds the interval of time
 *
 * Returns 0 or -ENOMEM.
 */
int perf_sources_init(struct perf_sources *sources, long sample_rate_max);
void perf_sources_finish(struct perf_sources *sources);

/* perf_sources_find - return the source with this number, or NULL. */
struct perf_source *perf_sources_find(const struct perf_sources *sources,
                                      KPROFILE_SOURCE number);

/*
 * perf_sources_lookup - find a source by name, NT name, "breakpoint:0xADDRESS",
 * "raw:0xCONFIG" or "uprobe:IMAGE+OFFSET"; the last three are made when they are first
 * named. Case matters in IMAGE only.
 *
 * Returns 0; -EINVAL if an address, number or image is malformed; -ENOENT; -ENOMEM;
 * -ENOSPC if all numbers of sources are taken.
 */
int perf_sources_lookup(struct perf_sources *sources, const char *text,
                        struct perf_source **source);

/* perf_source_ask_interval - set interval_asked. Returns the nearest value that the
 * limits allow, which the caller sets. */
uint64_t perf_source_ask_interval(struct perf_source *source, uint64_t interval);

/* perf_source_period - return the interval in the kernel's unit. */
uint64_t perf_source_period(const struct perf_source *source);

/*
 * perf_source_answer - keep in the source what result, 0 or negative errno, of opening
 * its event shows. If descriptors or memory ran out, the source stays unprobed, and
 * supported for now: a start reports the shortage. Returns source->supported.
 */
bool perf_source_answer(struct perf_source *source, int result);

/* perf_source_attr - set the members of attr that depend on the source. */
void perf_source_attr(const struct perf_source *source, struct perf_event_attr *attr);

#endif
