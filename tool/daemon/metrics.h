/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - the agent's own accounting, in the text format of OpenMetrics.
 */
#ifndef DAEMON_METRICS_H
#define DAEMON_METRICS_H

#include "base/buffer.h"
#include "daemon/spool.h"
#include "profile/profile.h"
#include "record/record_options.h"

/* metrics - figures of one moment, counted since the agent started. */
struct metrics {
    struct profile_source sources[RECORD_SOURCES_MAX]; /* names are borrowed */
    size_t source_count;
    uint64_t windows;
    uint64_t clock_jumps;
    uint64_t suspensions;
    uint64_t lost_hits; /* taken, but dropped because memory ran out */
    uint64_t cpu_ns;
    uint64_t memory_bytes;
    uint64_t processes;      /* that are watched */
    uint64_t window_ns;      /* length of a window */
    uint64_t last_window_ns; /* CLOCK_MONOTONIC: end of the last window, or start of the
                            * agent */
    uint64_t last_real_ns;   /* the same in UTC */
    double max_cpu_share;
    struct spool_statistics spool;
    bool has_store;
    uint64_t sent;
    uint64_t send_failures;
    uint64_t busy;       /* of send_failures, those because the store was locked */
    uint64_t unreadable; /* files of the spool that were no profile */
    uint64_t refused;    /* by the store, for good */
};

/* metrics_print - append the metrics as text, with its end mark. */
void metrics_print(const struct metrics *metrics, struct buffer *text);

/* metrics_add_sources - add the statistics of a look. */
void metrics_add_sources(struct metrics *metrics, const struct profile *look);

#endif
