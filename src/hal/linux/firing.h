/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/firing.h - does a source that opens also make hits on this machine?
 *
 * A virtual machine may lack debug registers or a clock without saying so: the event
 * opens and nothing ever comes. So the caller's own thread gives the source a reason to
 * fire.
 */
#ifndef HAL_LINUX_FIRING_H
#define HAL_LINUX_FIRING_H

#include "hal/linux/source.h"

/* What the sources of a session were seen to do. One answer serves all breakpoints. */
struct perf_firing {
    bool breakpoint_tried;
    bool breakpoint_never;
};

/*
 * perf_firing_probe - make a source fire that the kernel opened.
 *
 *   firing  in, out: of the session
 *   source  in: a breakpoint, time, or page-faults; others are not tried
 *   reason  out: why it does not count here; unchanged unless false is returned
 *
 * Returns whether the source can be used: false only if the thread did what makes a hit
 * and none was made. What cannot be tried (all registers in use, no memory) passes.
 * With the environment variable NTPROF_TEST_BREAKPOINTS=never breakpoints behave as on
 * a machine where they never fire. Takes 20 ms of processor time at most. Level:
 * passive.
 */
bool perf_firing_probe(struct perf_firing *firing, const struct perf_source *source,
                       char *reason, size_t reason_bytes);

#endif
