/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/status.h - converts results for the session and the core: negative errno to
 * NTSTATUS, sources and statistics to the structs of the HAL interface.
 */
#ifndef HAL_LINUX_STATUS_H
#define HAL_LINUX_STATUS_H

#include "hal/backend.h"
#include "hal/linux/source.h"

#include <ntprof/hal.h>

/* perf_status_of - convert 0 or negative errno. */
NTSTATUS perf_status_of(int result);

/* perf_status_describe_source - fill in a source's support and intervals. */
void perf_status_describe_source(const struct perf_source *source,
                                 HAL_SOURCE *information);

/* perf_status_lookup_source, perf_status_next_source - see HAL_BACKEND.LookupSource and
 * NextSource. */
NTSTATUS perf_status_lookup_source(struct perf_sources *sources, const char *text,
                                   KPROFILE_SOURCE *number);
NTSTATUS perf_status_next_source(const struct perf_sources *sources, ULONG index,
                                 KPROFILE_SOURCE *number);

/* perf_status_answer_statistics - fill in a source's names and its statistics. */
void perf_status_answer_statistics(const struct perf_source *source,
                                   const struct perf_statistics *statistics,
                                   HAL_SOURCE_STATISTICS *answer);

#endif
