/* SPDX-License-Identifier: MIT */
/* ration.c - chooses the next window's interval by the processor time of the last. */
#include "daemon/ration.h"

#include <assert.h>

/* At most this many doublings at a time: a window may have been an exception. */
enum { DOUBLINGS_MAX = 3 };

/* Part of the ration that hits may always take, whatever else costs. */
static const double hits_part = 0.25;

/* Part of the ration that reading names gets. */
static const double names_part = 1.0 / 6;

static uint64_t
at_least_0(double ns)
{
    return ns > 0 ? (uint64_t)ns : 0;
}

/* Return the interval doubled until the agent would keep to its ration, or one more
 * doubling would leave hits less than hits_part. used, hits_used: what the agent and
 * its hits took, as parts of the ration. */
static uint64_t
lengthen_interval(uint64_t interval_100ns, double used, double hits_used)
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
    assert(ration->max_share > 0 && before > 0);
    used = ration->share / ration->max_share;
    hits_used = (double)hits * RATION_HIT_NS / (double)elapsed_ns / ration->max_share;
    if (before > ration->asked_100ns && (used < 0.5 || hits_used < hits_part / 2)) {
        ration->interval_100ns = before / 2;
    } else {
        ration->interval_100ns = lengthen_interval(before, used, hits_used);
    }
    return ration->interval_100ns != before;
}

uint64_t
ration_names(struct ration *ration, uint64_t names_ns, uint64_t elapsed_ns,
             uint64_t *headers_ns)
{
    const double part = ration->max_share * names_part;
    /* what it gets in ten minutes, as long as RATION_START_NS */
    const double most_ns = part * (double)RATION_START_NS;

    *headers_ns = 0;
    ration->age_ns += elapsed_ns;
    if (ration->age_ns < RATION_START_NS) {
        return RATION_NAMES_FREE;
    }
    ration->names_ns += part * (double)elapsed_ns - (double)names_ns;
    if (ration->names_ns > most_ns) {
        ration->names_ns = most_ns;
    }
    if (ration->names_ns <= 0) {
        *headers_ns = at_least_0(ration->names_ns + 2 * most_ns);
        return 0;
    }
    *headers_ns = (uint64_t)most_ns;
    return (uint64_t)(ration->names_ns + most_ns);
}
