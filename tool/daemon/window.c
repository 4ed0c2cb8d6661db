/* SPDX-License-Identifier: MIT */
/* window.c - compares the wall clock with the monotonic one to find where a window
 * ends. */
#include "daemon/window.h"

#include "base/clock.h"

#include <assert.h>

static const int64_t jump_min_ns = (int64_t)WINDOW_JUMP_MS * 1000000;

struct window_clocks
window_read_clocks(void)
{
    return (struct window_clocks){
        .real_ns = clock_ns(CLOCK_REALTIME),
        .monotonic_ns = clock_ns(CLOCK_MONOTONIC),
        .boot_ns = clock_ns(CLOCK_BOOTTIME),
    };
}

void
window_begin(struct window *window, uint64_t length_ns, const struct window_clocks *now)
{
    const uint64_t rest_ns = length_ns - now->real_ns % length_ns;

    window->start = *now;
    window->end_real_ns = now->real_ns + rest_ns;
    if (rest_ns < length_ns / 10) {
        window->end_real_ns += length_ns;
    }
    assert(window->end_real_ns > now->real_ns && window->end_real_ns % length_ns == 0);
}

static int64_t
signed_difference(uint64_t later, uint64_t earlier)
{
    return (int64_t)(later - earlier);
}

/* Return by how much the wall clock was set since the window began; 0 if it was only
 * adjusted. */
static int64_t
jump_ns(const struct window *window, const struct window_clocks *now)
{
    const int64_t jump = signed_difference(now->real_ns, window->start.real_ns) -
                         signed_difference(now->boot_ns, window->start.boot_ns);

    return jump > -jump_min_ns && jump < jump_min_ns ? 0 : jump;
}

/* Return how long the machine was suspended since the window began; 0 for less than a
 * jump. */
static uint64_t
suspended_ns(const struct window *window, const struct window_clocks *now)
{
    const int64_t suspended =
        signed_difference(now->boot_ns, window->start.boot_ns) -
        signed_difference(now->monotonic_ns, window->start.monotonic_ns);

    return suspended < jump_min_ns ? 0 : (uint64_t)suspended;
}

bool
window_is_over(const struct window *window, const struct window_clocks *now)
{
    return now->real_ns >= window->end_real_ns || jump_ns(window, now) != 0 ||
           suspended_ns(window, now) != 0;
}

struct window_end
window_finish(const struct window *window, const struct window_clocks *now)
{
    const int64_t passed_ns = signed_difference(now->real_ns, window->start.real_ns);
    struct window_end end = {
        .counted_ns = now->monotonic_ns - window->start.monotonic_ns,
        .jump_ns = jump_ns(window, now),
        .suspended_ns = suspended_ns(window, now),
    };

    /* The next window starts at the wall clock's time now. If that clock runs more
     * slowly than the monotonic one, this window would seem to end after that. */
    if (end.jump_ns == 0 && passed_ns < (int64_t)end.counted_ns) {
        end.counted_ns = passed_ns > 0 ? (uint64_t)passed_ns : 0;
    }
    /* The second condition is for a clock that was set back by less than a jump in a
     * window that was even shorter: the next window would begin before this one. */
    end.new_epoch = end.jump_ns < 0 || passed_ns <= 0;
    return end;
}
