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

/* Clocks that move apart by less were only adjusted, as by NTP. */
enum { WINDOW_JUMP_MS = 500 };

/* window_clocks - the clocks at one moment. */
struct window_clocks {
    uint64_t real_ns;      /* CLOCK_REALTIME */
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC: stops while the machine is suspended */
    uint64_t boot_ns;      /* CLOCK_BOOTTIME: runs while it is suspended, too */
};

struct window {
    struct window_clocks start;
    uint64_t end_real_ns; /* when it should end */
};

/* window_end - how a window ended. */
struct window_end {
    uint64_t counted_ns;   /* time in the window during which the machine was not
                            * suspended */
    int64_t jump_ns;       /* what the wall clock was set by; 0: it was not */
    uint64_t suspended_ns; /* 0: it was not suspended */
    bool new_epoch;        /* the next window begins before this one's end */
};

/* window_read_clocks - return the time of all three clocks now. */
struct window_clocks window_read_clocks(void);

/* window_begin - begin a window. If less than a tenth of its length is left until the
 * next multiple, as when the timer expired early, the window ends at the one after. */
void window_begin(struct window *window, uint64_t length_ns,
                  const struct window_clocks *now);

/* window_is_over - return whether the window must end: its time has come, the wall
 * clock was set, or the machine was suspended. */
bool window_is_over(const struct window *window, const struct window_clocks *now);

/* window_finish - return how a window ends that ends now. */
struct window_end window_finish(const struct window *window,
                                const struct window_clocks *now);

#endif
