/* SPDX-License-Identifier: MIT */
/* account.c - figures since the start become figures of a look. */
#include "daemon/account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A profile of one source with these statistics since the start. */
static struct profile *
look_of(uint64_t counted, uint64_t outside, uint64_t missed, double measured)
{
    const struct profile_source source = {
        .name = "time",
        .unit = "100ns",
        .measured = measured,
        .counted = counted,
        .outside = outside,
        .taken = counted + outside,
        .missed = missed,
        .expected = counted + outside + missed,
    };
    struct profile *const look = profile_new();
    uint32_t index;

    assert_non_null(look);
    assert_true(profile_add_source(look, &source, &index));
    return look;
}

static void
assert_look(struct account *account, struct profile *look, uint64_t counted,
            uint64_t outside, uint64_t missed)
{
    struct collector_gaps gaps = {.running = 7};
    const struct profile_source *const source = look->sources;

    account_take(account, look, &gaps);
    assert_int_equal(source->counted, counted);
    assert_int_equal(source->outside, outside);
    assert_int_equal(source->taken, counted + outside);
    assert_int_equal(source->missed, missed);
    assert_int_equal(source->expected, counted + outside + missed);
    assert_int_equal(gaps.running, 0);
}

static void
account_take__figures_that_grow__what_is_new(void **state)
{
    struct account account = {.gaps = {0}};
    struct profile *const first = look_of(100, 10, 1, 1000);
    struct profile *const second = look_of(150, 10, 3, 1100);
    struct profile *const same = look_of(150, 10, 3, 1100);

    (void)state;
    assert_look(&account, first, 100, 10, 1);
    assert_look(&account, second, 50, 0, 2);
    /* 110 hits of 1000 and 160 of 1100 together: 50 of 1320. */
    assert_true(second->sources[0].measured > 1319 &&
                second->sources[0].measured < 1321);
    assert_look(&account, same, 0, 0, 0);
    assert_true(same->sources[0].measured == 0);
    profile_delete(first);
    profile_delete(second);
    profile_delete(same);
}

/* Hits that were taken for missed arrived after all. */
static void
account_take__missed_shrinks__never_negative_and_not_twice(void **state)
{
    struct account account = {.gaps = {0}};
    struct profile *const first = look_of(100, 0, 10, 1000);
    struct profile *const fewer = look_of(110, 0, 4, 1000);
    struct profile *const later = look_of(120, 0, 12, 1000);

    (void)state;
    assert_look(&account, first, 100, 0, 10);
    assert_look(&account, fewer, 10, 0, 0);
    assert_look(&account, later, 10, 0, 2);
    profile_delete(first);
    profile_delete(fewer);
    profile_delete(later);
}

static void
account_take__outside_in_kernel_mode__what_is_new_and_at_most_outside(void **state)
{
    struct account account = {.gaps = {0}};
    struct profile *const first = look_of(100, 10, 0, 1000);
    struct profile *const second = look_of(100, 15, 0, 1000);
    struct profile *const more_in_kernel = look_of(100, 16, 0, 1000);

    (void)state;
    first->sources[0].outside_kernel = 4;
    second->sources[0].outside_kernel = 7;
    more_in_kernel->sources[0].outside_kernel = 9;
    assert_look(&account, first, 100, 10, 0);
    assert_int_equal(first->sources[0].outside_kernel, 4);
    assert_look(&account, second, 0, 5, 0);
    assert_int_equal(second->sources[0].outside_kernel, 3);
    assert_look(&account, more_in_kernel, 0, 1, 0);
    assert_int_equal(more_in_kernel->sources[0].outside_kernel, 1);
    profile_delete(first);
    profile_delete(second);
    profile_delete(more_in_kernel);
}

static void
account_take__gaps__only_new_ones(void **state)
{
    struct account account = {.gaps = {0}};
    struct profile *const look = look_of(0, 0, 0, 0);
    struct collector_gaps sum = {0};
    struct collector_gaps gaps = {
        .failures = 3, .refused = 1, .unowned = 4, .bounded_images = 2};

    (void)state;
    account_take(&account, look, &gaps);
    account_add_gaps(&sum, &gaps);
    gaps = (struct collector_gaps){
        .failures = 5, .refused = 1, .unowned = 6, .bounded_images = 1};
    account_take(&account, look, &gaps);
    assert_int_equal(gaps.failures, 2);
    assert_int_equal(gaps.refused, 0);
    assert_int_equal(gaps.unowned, 2);
    account_add_gaps(&sum, &gaps);
    assert_int_equal(sum.failures, 5);
    assert_int_equal(sum.refused, 1);
    assert_int_equal(sum.unowned, 6);
    assert_int_equal(sum.bounded_images, 1);
    profile_delete(look);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(account_take__figures_that_grow__what_is_new),
        cmocka_unit_test(account_take__missed_shrinks__never_negative_and_not_twice),
        cmocka_unit_test(
            account_take__outside_in_kernel_mode__what_is_new_and_at_most_outside),
        cmocka_unit_test(account_take__gaps__only_new_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
