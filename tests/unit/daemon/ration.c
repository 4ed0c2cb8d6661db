/* SPDX-License-Identifier: MIT */
/* ration.c - the interval follows what the agent takes. */
#include "daemon/ration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define MANY 1000000 /* hits: their cost is all that there is */

static struct ration
ration_of(uint64_t asked, uint64_t interval)
{
    return (struct ration){
        .max_share = 0.01, .asked_100ns = asked, .interval_100ns = interval};
}

static void
ration_choose__within_the_ration__stays(void **state)
{
    struct ration ration = ration_of(100000, 100000);

    (void)state;
    assert_false(ration_choose(&ration, SECOND / 200, MANY, SECOND));
    assert_int_equal(ration.interval_100ns, 100000);
}

static void
ration_choose__above__doubled_as_often_as_needed_and_bounded(void **state)
{
    struct ration ration = ration_of(100000, 100000);

    (void)state;
    assert_true(ration_choose(&ration, 3 * SECOND / 100, MANY, SECOND));
    assert_int_equal(ration.interval_100ns, 400000);
    assert_true(ration_choose(&ration, SECOND, MANY, SECOND)); /* 100 times too much */
    assert_int_equal(ration.interval_100ns, 3200000);
    assert_true(ration_choose(&ration, SECOND, MANY, SECOND));
    assert_int_equal(ration.interval_100ns, 6400000);
    assert_false(ration_choose(&ration, SECOND, MANY, SECOND));
}

static void
ration_choose__hits_cost_little__stays(void **state)
{
    /* 200 hits cost 0.4 % at most, a quarter of the ration is 0.25 %. */
    struct ration ration = ration_of(100000, 100000);

    (void)state;
    assert_false(ration_choose(&ration, SECOND, 200, SECOND));
    assert_true(ration.share > 0.99);
    assert_true(ration_choose(&ration, SECOND, 250, SECOND));
    assert_int_equal(ration.interval_100ns, 200000);
    assert_false(ration_choose(&ration, SECOND, 125, SECOND));
    assert_false(ration_choose(&ration, SECOND, 70, SECOND));
}

static void
ration_choose__hits_cost_next_to_nothing__back_to_what_was_asked(void **state)
{
    struct ration ration = ration_of(100000, 400000);

    (void)state;
    assert_true(ration_choose(&ration, SECOND, 10, SECOND));
    assert_int_equal(ration.interval_100ns, 200000);
    assert_true(ration_choose(&ration, SECOND, 20, SECOND));
    assert_int_equal(ration.interval_100ns, 100000);
    assert_false(ration_choose(&ration, SECOND, 20, SECOND));
}

static void
ration_choose__room_again__back_to_what_was_asked(void **state)
{
    struct ration ration = ration_of(100000, 400000);

    (void)state;
    assert_true(ration_choose(&ration, SECOND / 1000, MANY, SECOND));
    assert_int_equal(ration.interval_100ns, 200000);
    assert_true(ration_choose(&ration, SECOND / 1000, MANY, SECOND));
    assert_int_equal(ration.interval_100ns, 100000);
    assert_false(ration_choose(&ration, 0, MANY, SECOND));
}

static void
ration_choose__time_is_no_source__only_measured(void **state)
{
    struct ration ration = ration_of(0, 0);

    (void)state;
    assert_false(ration_choose(&ration, SECOND, MANY, SECOND));
    assert_int_equal(ration.interval_100ns, 0);
    assert_true(ration.share > 0.99);
    assert_false(ration_choose(&ration, SECOND, 0, 0));
}

/* What names take of what they may: all of it for a while, then only headers or
 * nothing. */
static uint64_t
take(int window, uint64_t names_ns, uint64_t headers_ns)
{
    return window % 40 < 20 ? names_ns + headers_ns : window % 40 < 25 ? headers_ns : 0;
}

static void
ration_names__any_ten_minutes_after_the_first__four_sixths_of_the_ration(void **state)
{
    struct ration ration = ration_of(100000, 100000);
    const uint64_t window = 60 * SECOND;
    uint64_t taken[100] = {0};
    uint64_t headers_ns;
    uint64_t names_ns;
    uint64_t all = 0;

    (void)state;
    for (int i = 0; i < 9; i++) {
        assert_true(ration_names(&ration, 30 * SECOND, window, &headers_ns) ==
                    RATION_NAMES_FREE);
    }
    for (int i = 0; i < 100; i++) {
        names_ns = ration_names(&ration, i > 0 ? taken[i - 1] : 0, window, &headers_ns);
        assert_true(names_ns != RATION_NAMES_FREE);
        taken[i] = take(i, names_ns, headers_ns);
        all += taken[i];
    }
    for (int first = 0; first < 90; first++) {
        uint64_t sum = 0;

        for (int i = first; i < first + 10; i++) {
            sum += taken[i];
        }
        assert_true(sum <= 4 * SECOND + SECOND / 1000); /* of 6 */
    }
    /* In the long run they get their sixth: what was owed is repaid once. */
    assert_true(all <= 100 * window / 600 + 3 * SECOND);
    assert_true(ration_names(&ration, 0, 3000 * SECOND, &headers_ns) >= SECOND);
}

static void
ration_names__more_was_taken__headers_only_then_nothing_until_it_is_repaid(void **state)
{
    struct ration ration = ration_of(100000, 100000);
    uint64_t headers_ns;

    (void)state;
    (void)ration_names(&ration, 0, 600 * SECOND, &headers_ns);
    assert_in_range(headers_ns, SECOND - 1000, SECOND);
    assert_int_equal(ration_names(&ration, 2 * SECOND, SECOND, &headers_ns), 0);
    assert_in_range(headers_ns, SECOND / 2, SECOND * 3 / 2);
    assert_int_equal(ration_names(&ration, 2 * SECOND, SECOND, &headers_ns), 0);
    assert_int_equal(headers_ns, 0);
    assert_int_equal(ration_names(&ration, 0, 60 * SECOND, &headers_ns), 0);
    assert_true(ration_names(&ration, 0, 1800 * SECOND, &headers_ns) > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            ration_names__any_ten_minutes_after_the_first__four_sixths_of_the_ration),
        cmocka_unit_test(
            ration_names__more_was_taken__headers_only_then_nothing_until_it_is_repaid),
        cmocka_unit_test(ration_choose__within_the_ration__stays),
        cmocka_unit_test(ration_choose__above__doubled_as_often_as_needed_and_bounded),
        cmocka_unit_test(ration_choose__hits_cost_little__stays),
        cmocka_unit_test(
            ration_choose__hits_cost_next_to_nothing__back_to_what_was_asked),
        cmocka_unit_test(ration_choose__room_again__back_to_what_was_asked),
        cmocka_unit_test(ration_choose__time_is_no_source__only_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
