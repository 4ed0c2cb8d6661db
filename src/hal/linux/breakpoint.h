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

/* What a session has found out. All zero: it has not been tried. */
struct perf_breakpoints {
    bool tried;
    bool never_fire;
};

/*
 * perf_breakpoints_fire - do breakpoints fire? The first call tries, later ones return
 * the same answer.
 *
 * Returns false if the thread ran into a breakpoint and nothing was counted. True also
 * if no breakpoint can be opened, as when all registers are in use. Level: passive.
 */
bool perf_breakpoints_fire(struct perf_breakpoints *breakpoints);

#endif
