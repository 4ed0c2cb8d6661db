/* SPDX-License-Identifier: MIT */
/* ration.c - see ration.h. */
#include "agent/ration.h"

/* At most this much longer at a time: a window may have been an exception. */
static const double growth_max = 8;

/* The parts of the ration that hits may always take, and that they take before the
 * interval is shortened. */
static const double quarter = 0.25;
static const double eighth = 0.125;

bool
ration_choose(struct ration *ration, uint64_t cpu_ns, uint64_t hits,
              uint64_t elapsed_ns)
{
    const uint64_t before = ration->interval_100ns;
    double growth;
    double hits_growth;

    if (elapsed_ns == 0) {
        return false;
    }
    ration->share = (double)cpu_ns / (double)elapsed_ns;
    if (ration->asked_100ns == 0) {
        return false;
    }
    growth = ration->share / ration->max_share;
    growth = growth < growth_max ? growth : growth_max;
    hits_growth = (double)hits * RATION_HIT_NS / (double)elapsed_ns / ration->max_share;
    if (growth < 0.5 || hits_growth < eighth) {
        ration->interval_100ns = before / 2;
    } else if (growth > 1 && hits_growth > quarter) {
        growth = growth < hits_growth / quarter ? growth : hits_growth / quarter;
        ration->interval_100ns = (uint64_t)((double)before * growth) + 1;
    }
    if (ration->interval_100ns > RATION_INTERVAL_MAX_100NS) {
        ration->interval_100ns = RATION_INTERVAL_MAX_100NS;
    }
    if (ration->interval_100ns < ration->asked_100ns) {
        ration->interval_100ns = ration->asked_100ns;
    }
    return ration->interval_100ns != before;
}
