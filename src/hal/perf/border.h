/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/border.h - what every back end over Linux's events answers the session and the core: negative
 * errno as NTSTATUS, sources, books.
 */
#ifndef HAL_PERF_BORDER_H
#define HAL_PERF_BORDER_H

#include "hal/backend.h"
#include "hal/perf/source.h"

#include <ntprof/hal.h>

/* perf_border_status - of 0 or negative errno. */
NTSTATUS perf_border_status(int result);

/* perf_border_describe - a source's support and intervals. */
void perf_border_describe(const struct perf_source *source, HAL_SOURCE *information);

/* perf_border_lookup, perf_border_next - see HAL_BACKEND.LookupSource and NextSource. */
NTSTATUS perf_border_lookup(struct perf_sources *sources, const char *text,
                            KPROFILE_SOURCE *number);
NTSTATUS perf_border_next(const struct perf_sources *sources, ULONG index,
                          KPROFILE_SOURCE *number);

/* perf_border_books - a source's names, and books in its unit. */
void perf_border_books(const struct perf_source *source, const struct perf_books *books,
                       HAL_BOOKS *answer);

#endif
