/* SPDX-License-Identifier: MIT */
/*
 * coverage.h - which time of a selection each host has windows of, as a sentence. Only
 * windows of agents are looked at: single recordings are not expected to follow each
 * other. Only tool/store includes it.
 */
#ifndef STORE_COVERAGE_H
#define STORE_COVERAGE_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

/* Hosts that a list names; more are counted. */
enum { COVERAGE_NAMED = 3 };

/* coverage - to start with, the caller sets the times and leaves the rest zero. */
struct coverage {
    int64_t start_ns; /* of the selected time */
    int64_t end_ns;
    struct buffer without; /* names of hosts without windows, the first few */
    struct buffer partly;  /* names of hosts that lack some, with the missing time */
    uint64_t hosts_without;
    uint64_t hosts_partly;
};

/* coverage_add - add a host.
 *
 *   windows     number of its windows in the selected time
 *   covered_ns  how much of the selected time these windows cover
 */
void coverage_add(struct coverage *coverage, const char *host, uint64_t windows,
                  int64_t covered_ns);

/* coverage_put - append the sentence; nothing if no window is missing. */
void coverage_put(const struct coverage *coverage, struct buffer *text);

void coverage_finish(struct coverage *coverage);

/* coverage_put_time - append a duration as 45s, 12m or 3.5h. */
void coverage_put_time(struct buffer *text, int64_t time_ns);

#endif
