/* SPDX-License-Identifier: MIT */
/*
 * ration.h - keeps the agent's own processor time below --max-cpu by longer intervals.
 *
 * The interval changes between windows only, so each window has one interval.
 */
#ifndef DAEMON_RATION_H
#define DAEMON_RATION_H

#include <stdbool.h>
#include <stdint.h>

/* No doubling leads above it: one hit a second. */
#define RATION_INTERVAL_MAX_100NS UINT64_C(10000000)

/* What the agent takes for a hit, at most: delivery, its row, its name, its storage. */
#define RATION_HIT_NS 20000

struct ration {
    double max_share;        /* of one processor */
    uint64_t asked_100ns;    /* 0: time is no source, and nothing is changed */
    uint64_t interval_100ns; /* in effect */
    double share;            /* of the last window */
    uint64_t age_ns;         /* of the agent */
    double names_ns;         /* processor time that names may take now; or a debt */
};

/*
 * Choose the interval of the next window by what the agent took in this one. Above the
 * ration it is doubled once or more, but not so that hits would take less than a
 * quarter of the ration: the rest is the cost of processes that start, map files and
 * exit, which no interval reduces. Below half of the ration, or if hits took less than
 * an eighth of it, the interval is halved until it is the one that was asked for. A
 * store has windows of few different intervals then. Returns whether it changed.
 *
 *   cpu_ns  processor time of the agent in the window
 *   hits    that the window took of source time
 */
bool ration_choose(struct ration *ration, uint64_t cpu_ns, uint64_t hits,
                   uint64_t elapsed_ns);

/* Time in which names may take what they need: at first all symbols are read. */
#define RATION_START_NS UINT64_C(600000000000)

/* What ration_names returns in that time. */
#define RATION_NAMES_FREE UINT64_MAX

/*
 * Return how much processor time names may take until the next call. After
 * RATION_START_NS they get a sixth of the ration, save up that of ten minutes, and may
 * owe as much, so that a large file can be read at once. Whoever owes gets nothing but
 * headers, which may owe as much once more. So in any ten minutes they take four sixths
 * of the ration at most.
 *
 *   names_ns    that the processes that read symbols took since the last call
 *   elapsed_ns  since the last call
 *   headers_ns  set to what they may take for headers when the rest is used up
 */
uint64_t ration_names(struct ration *ration, uint64_t names_ns, uint64_t elapsed_ns,
                      uint64_t *headers_ns);

#endif
