/* SPDX-License-Identifier: MIT */
/* window.c - windows on a wall clock that may be set, and suspension. */
#include "daemon/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)

/* 20 s after a minute of 2023. */
static const struct window_clocks start = {.real_ns = 1700000000 * SECOND,
                                           .monotonic_ns = 500 * SECOND,
                                           .boot_ns = 900 * SECOND};

/* The clocks after so many seconds. */
static struct window_clocks
after(double seconds)
{
    const uint64_t ns = (uint64_t)(seconds * 1e9);

    return (struct window_clocks){.real_ns = start.real_ns + ns,
                                  .monotonic_ns = start.monotonic_ns + ns,
                                  .boot_ns = start.boot_ns + ns};
}

static void
window_begin__between_two_minutes__ends_at_the_next(void **state)
{
    struct window window;

    (void)state;
    window_begin(&window, MINUTE, &start);
    assert_int_equal(window.start.real_ns, start.real_ns);
    assert_int_equal(window.end_real_ns, start.real_ns + 40 * SECOND);
    assert_int_equal(window.end_real_ns % MINUTE, 0);
}

static void
window_begin__just_before_a_boundary__joined_to_the_next(void **state)
{
    const struct window_clocks now = after(35);
    struct window window;

    (void)state;
    window_begin(&window, MINUTE, &now); /* 5 s are left of 60 */
    assert_int_equal(window.end_real_ns, start.real_ns + 100 * SECOND);
}

static void
window_begin__at_a_boundary__takes_the_whole_length(void **state)
{
    const struct window_clocks now = after(40);
    struct window window;

    (void)state;
    window_begin(&window, MINUTE, &now);
    assert_int_equal(window.end_real_ns, start.real_ns + 100 * SECOND);
}

static void
window_is_over__time_passes__at_its_end_only(void **state)
{
    struct window_clocks now = after(39.999);
    struct window window;
    struct window_end end;

    (void)state;
    window_begin(&window, MINUTE, &start);
    assert_false(window_is_over(&window, &now));
    now = after(40);
    assert_true(window_is_over(&window, &now));
    end = window_finish(&window, &now);
    assert_int_equal(end.counted_ns, 40 * SECOND);
    assert_int_equal(end.jump_ns, 0);
    assert_int_equal(end.suspended_ns, 0);
    assert_false(end.new_epoch);
}

static void
window_is_over__clock_set_forward__ends_and_says_so(void **state)
{
    struct window_clocks now = after(10);
    struct window window;
    struct window_end end;

    (void)state;
    window_begin(&window, MINUTE, &start);
    now.real_ns += 3600 * SECOND;
    assert_true(window_is_over(&window, &now));
    end = window_finish(&window, &now);
    assert_int_equal(end.counted_ns, 10 * SECOND);
    assert_true(end.jump_ns == (int64_t)(3600 * SECOND));
    assert_false(end.new_epoch);
}

/* The next window may start before this one did, so it needs an epoch of its own. */
static void
window_is_over__clock_set_back__new_epoch(void **state)
{
    struct window_clocks now = after(10);
    struct window window;
    struct window_end end;

    (void)state;
    window_begin(&window, MINUTE, &start);
    now.real_ns -= 3600 * SECOND;
    assert_true(window_is_over(&window, &now));
    end = window_finish(&window, &now);
    assert_int_equal(end.counted_ns, 10 * SECOND);
    assert_true(end.jump_ns == -(int64_t)(3600 * SECOND));
    assert_true(end.new_epoch);
}

static void
window_finish__set_back_a_little_in_a_short_window__new_epoch(void **state)
{
    struct window_clocks now = after(0.1);
    struct window window;
    struct window_end end;

    (void)state;
    window_begin(&window, MINUTE, &start);
    now.real_ns -= 300 * SECOND / 1000; /* 300 ms: less than a jump */
    end = window_finish(&window, &now);
    assert_int_equal(end.jump_ns, 0);
    assert_int_equal(end.counted_ns, 0);
    assert_true(end.new_epoch);
}

static void
window_finish__clock_slowed_down__ends_where_the_next_begins(void **state)
{
    struct window_clocks now = after(40.03);
    struct window window;
    struct window_end end;

    (void)state;
    window_begin(&window, MINUTE, &start);
    now.real_ns -= 30 * SECOND / 1000; /* 30 ms of adjustment */
    end = window_finish(&window, &now);
    assert_int_equal(end.jump_ns, 0);
    assert_false(end.new_epoch);
    assert_int_equal(window.start.real_ns + end.counted_ns, now.real_ns);
}

static void
window_is_over__suspended__ends_and_counts_the_time_awake(void **state)
{
    struct window_clocks now = after(10);
    struct window window;
    struct window_end end;

    (void)state;
    window_begin(&window, MINUTE, &start);
    now.real_ns += 7 * SECOND; /* before the window's end on the wall clock */
    now.boot_ns += 7 * SECOND;
    assert_true(window_is_over(&window, &now));
    end = window_finish(&window, &now);
    assert_int_equal(end.counted_ns, 10 * SECOND);
    assert_int_equal(end.suspended_ns, 7 * SECOND);
    assert_int_equal(end.jump_ns, 0);
    assert_false(end.new_epoch);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(window_begin__between_two_minutes__ends_at_the_next),
        cmocka_unit_test(window_begin__just_before_a_boundary__joined_to_the_next),
        cmocka_unit_test(window_begin__at_a_boundary__takes_the_whole_length),
        cmocka_unit_test(window_is_over__time_passes__at_its_end_only),
        cmocka_unit_test(window_is_over__clock_set_forward__ends_and_says_so),
        cmocka_unit_test(window_is_over__clock_set_back__new_epoch),
        cmocka_unit_test(window_finish__set_back_a_little_in_a_short_window__new_epoch),
        cmocka_unit_test(window_finish__clock_slowed_down__ends_where_the_next_begins),
        cmocka_unit_test(window_is_over__suspended__ends_and_counts_the_time_awake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
