/* SPDX-License-Identifier: MIT */
/* ration.c - see ration.h. */
#include "daemon/ration.h"

/* At most this many doublings at a time: a window may have been an exception. */
enum { DOUBLINGS_MAX = 3 };

/* Part of the ration that hits may always take. */
static const double hits_part = 0.25;

/* Double the interval until the agent is within its ration, or hits would take less
 * than their part of it. used and hits_used are parts of the ration. */
static uint64_t
lengthen(uint64_t interval_100ns, double used, double hits_used)
{
    for (int i = 0; i < DOUBLINGS_MAX && used > 1 && hits_used / 2 >= hits_part &&
                    interval_100ns <= RATION_INTERVAL_MAX_100NS / 2;
         i++) {
        interval_100ns *= 2;
        used /= 2;
        hits_used /= 2;
    }
    return interval_100ns;
}

bool
ration_choose(struct ration *ration, uint64_t cpu_ns, uint64_t hits,
              uint64_t elapsed_ns)
{
    const uint64_t before = ration->interval_100ns;
    double used;
    double hits_used;

    if (elapsed_ns == 0) {
        return false;
    }
    ration->share = (double)cpu_ns / (double)elapsed_ns;
    if (ration->asked_100ns == 0) {
        return false;
    }
    used = ration->share / ration->max_share;
    hits_used = (double)hits * RATION_HIT_NS / (double)elapsed_ns / ration->max_share;
    if (before > ration->asked_100ns && (used < 0.5 || hits_used < hits_part / 2)) {
        ration->interval_100ns = before / 2;
    } else {
        ration->interval_100ns = lengthen(before, used, hits_used);
    }
    return ration->interval_100ns != before;
}
