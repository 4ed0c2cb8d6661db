/* SPDX-License-Identifier: MIT */
/*
 * hal/hal.h - a back end as the core sees it: the public HAL table, <ntprof/hal.h>, and
 * what back ends call.
 */
#ifndef HAL_HAL_H
#define HAL_HAL_H

#include <ntprof/hal.h>

struct _KE_SYSTEM;

/*
 * KeProfileInterruptWithSource - count a hit in every started profile that matches it.
 *
 * Returns the number of counters incremented. Level: interrupt (no lock, no allocation,
 * no call out). Calls for one processor must not overlap; calls for several may, also
 * with starts and stops. docs/behaviour.md, Hits.
 */
ULONG KeProfileInterruptWithSource(struct _KE_SYSTEM *Ke, const KE_HIT *Hit);

#endif
