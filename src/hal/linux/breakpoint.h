/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/breakpoint.h - do breakpoints make hits on this machine?
 *
 * On a virtual machine without debug registers a breakpoint opens and never fires. So
 * the calling thread runs into one, and looks whether that was counted.
 */
#ifndef HAL_LINUX_BREAKPOINT_H
#define HAL_LINUX_BREAKPOINT_H

#include <stdbool.h>

/* The answer, kept for the session; all zero until it has been tried. */
struct perf_breakpoints {
    bool tried;
    bool never_fire;
};

/*
 * perf_breakpoints_fire - try it at the first call, and keep the answer.
 *
 * Returns false only if the thread ran into a breakpoint and none was counted. If that
 * cannot be tried (all registers in use): true. With the environment variable
 * NTPROF_TEST_BREAKPOINTS=never it is false. Level: passive.
 */
bool perf_breakpoints_fire(struct perf_breakpoints *breakpoints);

#endif
