/* SPDX-License-Identifier: MIT */
/*
 * ration.h - keeps the agent's own processor time below --max-cpu by longer intervals.
 *
 * The interval changes between windows only, so each window has one interval.
 */
#ifndef AGENT_RATION_H
#define AGENT_RATION_H

#include <stdbool.h>
#include <stdint.h>

/* Longest interval: one hit a second. What costs more does not depend on hits. */
#define RATION_INTERVAL_MAX_100NS UINT64_C(10000000)

struct ration {
    double max_share;        /* of one processor */
    uint64_t asked_100ns;    /* 0: time is no source, and nothing is changed */
    uint64_t interval_100ns; /* in effect */
    double share;            /* of the last window */
};

/*
 * Choose the interval of the next window by what the agent took in this one. Above the
 * ration it becomes longer in proportion, and below half of it half as long again.
 * Returns whether it changed.
 */
bool ration_choose(struct ration *ration, uint64_t cpu_ns, uint64_t elapsed_ns);

#endif
