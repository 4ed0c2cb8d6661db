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

/* Longest interval that doubling leads to: one hit a second. */
#define RATION_INTERVAL_MAX_100NS UINT64_C(10000000)

/* Processor time of the agent for one hit, at most: its delivery, row, name and
 * storage. */
#define RATION_HIT_NS 20000

struct ration {
    double max_share;        /* of one processor */
    uint64_t asked_100ns;    /* shortest interval, which it begins with; 0: time is no
                              * source, and nothing is changed */
    uint64_t interval_100ns; /* in effect */
    double share;            /* of the last window */
    uint64_t age_ns;         /* of the agent */
    double names_ns;         /* processor time that reading names has saved; below 0:
                              * that it owes */
};

/*
 * ration_choose - choose the next interval by the processor time that the agent took in
 * a window. Above the ration the interval is doubled once or more, but not
 * so that hits would take less than a quarter of the ration: the rest is the cost of
 * processes that start, map files and exit, which no interval reduces. Below half of
 * the ration, or if hits took less than an eighth of it, the interval is halved once a
 * window, down to the one that was asked for. With doubling and halving only, a store
 * has windows of few different intervals. Returns whether the interval changed.
 *
 *   cpu_ns  processor time of the agent in the window
 *   hits    that the window took of source time
 */
bool ration_choose(struct ration *ration, uint64_t cpu_ns, uint64_t hits,
                   uint64_t elapsed_ns);

/* Time since the start in which reading names has no limit: the symbols of all
 * processes are read then. */
#define RATION_START_NS UINT64_C(600000000000)

/* What ration_names returns in that time. */
#define RATION_NAMES_FREE UINT64_MAX

/*
 * ration_names - return how much processor time reading names may take until the next
 * call. After RATION_START_NS it gets a sixth of the ration. It can save what it gets
 * in ten minutes, and owe as much, so that a large file can be read at once. While it
 * owes, only headers of files are read, which may owe as much once more. So in any ten
 * minutes reading takes four sixths of the ration at most.
 *
 *   names_ns    what the processes that read symbols took since the last call
 *   elapsed_ns  since the last call
 *   headers_ns  out: what they may take for headers when the rest is used up
 */
uint64_t ration_names(struct ration *ration, uint64_t names_ns, uint64_t elapsed_ns,
                      uint64_t *headers_ns);

#endif
