/* SPDX-License-Identifier: MIT */
/*
 * window.h - when windows begin and end.
 *
 * A window ends at the next multiple of its length on the wall clock, so that those of
 * all machines are the same. If that clock is set, or the machine was suspended, the
 * window ends at once. Within an epoch no window starts before the previous one's end:
 * after the clock was set back a new epoch begins, as at each start of an agent.
 */
#ifndef DAEMON_WINDOW_H
#define DAEMON_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* A smaller difference between clocks is their adjustment. */
enum { WINDOW_JUMP_MS = 500 };

/* window_clocks - the clocks at one moment. */
struct window_clocks {
    uint64_t real_ns;      /* CLOCK_REALTIME */
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC: does not run while suspended */
    uint64_t boot_ns;      /* CLOCK_BOOTTIME: runs on */
};

struct window {
    struct window_clocks start;
    uint64_t end_real_ns; /* when it should end */
};

/* window_end - how a window ended. */
struct window_end {
    uint64_t counted_ns;   /* time in which processors ran */
    int64_t jump_ns;       /* what the wall clock was set by; 0: it was not */
    uint64_t suspended_ns; /* 0: it was not suspended */
    bool new_epoch;        /* the next window begins before this one's end */
};

struct window_clocks window_read_clocks(void);

/* Begin a window. A rest that is shorter than a tenth of the length is added to the
 * next window, as after a timer that expired early. */
void window_begin(struct window *window, uint64_t length_ns,
                  const struct window_clocks *now);

/* Whether it has to end: its time has come, or a clock jumped. */
bool window_is_over(const struct window *window, const struct window_clocks *now);

/* Describe the end of a window at this moment. */
struct window_end window_finish(const struct window *window,
                                const struct window_clocks *now);

#endif
