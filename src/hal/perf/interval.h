/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/interval.h - changes the interval of a source, also while its events count.
 *
 * The kernel can change the period of an event, but not that of the events inherited
 * from it, and after the change the next occurrence may be a hit at once. So all events
 * of the source are opened again with the new period, and the old ones are closed: a
 * hit before the change counts for the old event, a later one for the new event.
 */
#ifndef HAL_PERF_INTERVAL_H
#define HAL_PERF_INTERVAL_H

#include "hal/perf/perf.h"

/* perf_set_interval - set the interval of a source; one outside its limits becomes the
 * nearest that is allowed. */
void perf_set_interval(struct perf *perf, struct perf_source *source,
                       uint64_t interval);

#endif
