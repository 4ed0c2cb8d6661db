/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/firing.h - does a source that opens also make hits on this machine?
 *
 * On a virtual machine without debug registers or a clock, an event may open and never
 * fire. So the calling thread does something that the source counts, and looks at the
 * event.
 */
#ifndef HAL_LINUX_FIRING_H
#define HAL_LINUX_FIRING_H

#include "hal/linux/source.h"

/* Results that a session keeps. One result holds for all breakpoints. */
struct perf_firing {
    bool breakpoint_tried;
    bool breakpoint_never;
};

/*
 * perf_firing_probe - try whether a source fires that the kernel lets the caller open.
 *
 *   firing  in, out: of the session
 *   source  in: a breakpoint, time, or page-faults; others are not tried
 *   reason  out: why it does not count here; unchanged unless false is returned
 *
 * Returns whether the source can be used: false only if the thread did what makes a hit
 * and none was made. If it cannot be tried (all registers in use, no memory): true.
 * With the environment variable NTPROF_TEST_BREAKPOINTS=never breakpoints behave as on
 * a machine where they never fire. Takes 20 ms of processor time at most. Level:
 * passive.
 */
bool perf_firing_probe(struct perf_firing *firing, const struct perf_source *source,
                       char *reason, size_t reason_bytes);

#endif
