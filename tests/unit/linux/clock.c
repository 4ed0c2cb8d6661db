/* SPDX-License-Identifier: MIT */
/* clock.c - offsets of time namespaces, and times of records by the caller's clock. */
#include "hal/linux/clock.h"

#include "hal/linux/refusal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S INT64_C(1000000000)

static void
parse__offsets_of_each_form__those_of_monotonic(void **state)
{
    static const struct {
        const char *text;
        int64_t offset_ns;
    } texts[] = {
        {"monotonic           0         0\nboottime            0         0\n", 0},
        {"monotonic        1000         0\nboottime            7         0\n",
         1000 * S},
        {"monotonic         -20 500000000\nboottime            7         0\n",
         -20 * S + S / 2},
        {"boottime            7         0\nmonotonic        1000 1\n", 1000 * S + 1},
        {"monotonic 4611686018 999999999", 4611686018 * S + 999999999},
        {"1 -3 0\n7 5 0\n", -3 * S}, /* Linux 5.6 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int64_t offset_ns = 1;

        assert_true(perf_clock_parse(texts[i].text, &offset_ns));
        assert_int_equal(offset_ns, texts[i].offset_ns);
    }
}

static void
parse__no_offset_or_not_a_time__refused(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n",
        "boottime 7 0\n",
        "monotonic\n",
        "monotonic 7",
        "monotonic 7 -1\n",
        "monotonic 7 1000000000\n",
        "monotonic 9223372036 999999999\n",
        "monotonic -9223372036 0\n",
        "monotonic 99999999999999999999 0\n",
        "monotonic x 0\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int64_t offset_ns = 17;

        assert_false(perf_clock_parse(texts[i], &offset_ns));
        assert_int_equal(offset_ns, 17);
    }
}

static void
now__offset__is_taken_off_and_shown_with_it(void **state)
{
    const struct perf_clock ahead = {.offset_ns = 1000 * S};
    const struct perf_clock behind = {.offset_ns = -1000 * S};
    const uint64_t before_ns = perf_elapsed_ns();
    const uint64_t ahead_ns = perf_clock_now_ns(&ahead);
    const uint64_t behind_ns = perf_clock_now_ns(&behind);
    const uint64_t after_ns = perf_elapsed_ns();

    (void)state;
    assert_in_range(ahead_ns + 1000 * S, before_ns, after_ns);
    assert_in_range(behind_ns - 1000 * S, before_ns, after_ns);
    assert_int_equal(perf_clock_shown_ns(&ahead, 5 * S), 1005 * S);
    assert_int_equal(perf_clock_shown_ns(&behind, 1005 * S), 5 * S);
    assert_int_equal(perf_clock_shown_ns(&ahead, 0), 0);
}

static void
find__this_process__is_known(void **state)
{
    struct perf_clock clock = {.offset_ns = 17};
    struct perf_refusal refusal;

    (void)state;
    assert_int_equal(perf_clock_find(&clock, &refusal), 0);
    assert_int_not_equal(clock.offset_ns, 17);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse__offsets_of_each_form__those_of_monotonic),
        cmocka_unit_test(parse__no_offset_or_not_a_time__refused),
        cmocka_unit_test(now__offset__is_taken_off_and_shown_with_it),
        cmocka_unit_test(find__this_process__is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
