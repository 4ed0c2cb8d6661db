/* SPDX-License-Identifier: MIT */
/*
 * chance.c - chances of counts and shares against values that were computed with whole
 * fractions, and how often pure noise is taken for a change.
 */
#include "profile/chance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
assert_close(double value, double expected)
{
    if (!(fabs(value - expected) <= expected * 1e-9)) {
        fail_msg("%.17g instead of %.17g", value, expected);
    }
}

static void
counts__small_and_large__exact(void **state)
{
    static const struct {
        uint64_t old_hits, new_hits;
        double new_part, chance;
    } rows[] = {
        {0, 6, 0.5, 0.03125},
        {0, 12, 0.5, 0.00048828125},
        {12, 0, 0.5, 0.00048828125},
        {3, 3, 0.5, 1},
        {100, 150, 0.5, 0.001883300935076157},
        {150, 100, 0.5, 0.001883300935076157},
        {10, 40, 0.25, 1.0407208917627214e-15},
        {1000, 1100, 0.5, 0.030720707864242296},
        {30, 10, 0.9, 6.129894152794899e-22},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_close(
            chance_of_counts(rows[i].old_hits, rows[i].new_hits, rows[i].new_part),
            rows[i].chance);
    }
}

static void
shares__small_and_large__exact(void **state)
{
    static const struct {
        uint64_t old_hits, old_total, new_hits, new_total;
        double chance;
    } rows[] = {
        {5, 1000, 20, 1000, 0.0038590206248560925},
        {900, 1000, 950, 1000, 2.7474980521668858e-05},
        {0, 50, 6, 500, 1},
        {10, 100, 10, 100, 1},
        {100, 1000, 500, 1000, 5.125028512527549e-90},
        {6, 6, 0, 100, 1.1723984030700388e-09},
        {50, 2000, 20, 300, 0.0007396664889271752},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_close(chance_of_shares(rows[i].old_hits, rows[i].old_total,
                                      rows[i].new_hits, rows[i].new_total),
                     rows[i].chance);
    }
}

/* The row or the others, on either side, may be the few. */
static void
shares__of_up_to_64_bits__exact(void **state)
{
    static const struct {
        uint64_t old_hits, old_total, new_hits, new_total;
        double chance;
    } rows[] = {
        {200, 1000000000, 204, 1000000000, 0.88137579104466401},
        {200, 1000000000000, 204, 1000000000000, 0.88137580293485507},
        {200, 10000000000000, 204, 10000000000000, 0.88137580294556694},
        {200, 100000000000000, 204, 100000000000000, 0.8813758029466382},
        {200, 1000000000000000, 204, 1000000000000000, 0.88137580294674533},
        {200, 10000000000000000, 204, 10000000000000000, 0.88137580294675599},
        {200, 10000000000000000, 260, 10000000000000000, 0.0058839224731034104},
        {200, UINT64_MAX, 260, UINT64_MAX, 0.0058839224731039785},
        {200, 100000000000000000, 9, 1000000000000000, 0.0005471623151013216},
        {50000000000000000, 100000000000000000, 40, 100, 0.05688793364098093},
        {10000000000000000, 1000000000000000000, 30, 1000, 4.1199777019440046e-07},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint64_t old_rest = rows[i].old_total - rows[i].old_hits;
        const uint64_t new_rest = rows[i].new_total - rows[i].new_hits;

        assert_close(chance_of_shares(rows[i].old_hits, rows[i].old_total,
                                      rows[i].new_hits, rows[i].new_total),
                     rows[i].chance);
        assert_close(chance_of_shares(rows[i].new_hits, rows[i].new_total,
                                      rows[i].old_hits, rows[i].old_total),
                     rows[i].chance);
        assert_close(
            chance_of_shares(old_rest, rows[i].old_total, new_rest, rows[i].new_total),
            rows[i].chance);
    }
}

/* Nearly all hits are expected on one side, and are there; 256 on the other. */
static void
counts__most_on_one_side__as_of_the_few(void **state)
{
    const double few = 0x1p-50;
    const uint64_t most = UINT64_C(1) << 58;

    (void)state;
    assert_close(chance_of_counts(most, 300, few), 0.0078865555868644553);
    assert_close(chance_of_counts(300, most, 1 - few), 0.0078865555868644553);
}

static void
chance__too_few_or_no_other_row__one(void **state)
{
    (void)state;
    assert_true(chance_of_counts(0, 5, 0.5) == 1);
    assert_true(chance_of_counts(0, 0, 0.5) == 1);
    assert_true(chance_of_shares(0, 100, 5, 100) == 1);
    assert_true(chance_of_shares(0, 0, 50, 100) == 1);
    assert_true(chance_of_shares(100, 100, 70, 70) == 1);
}

/* Where the normal distribution takes over there is no step. */
static void
chance__more_hits_than_are_added_up__goes_on(void **state)
{
    (void)state;
    for (uint64_t half = 49000; half <= 51000; half += 2000) {
        const uint64_t apart = 632; /* 2 times the standard error */
        const double chance = chance_of_counts(half - apart / 2, half + apart / 2, 0.5);

        assert_true(chance > 0.0435 && chance < 0.0485);
    }
    /* Lopsided, and nearly four standard errors off: added up, and by the normal
     * distribution. */
    assert_close(chance_of_counts(249200, 28341, 0.1), 0.00021591225636);
    assert_true(fabs(chance_of_counts(252000, 28659, 0.1) / 0.00020086907 - 1) < 0.05);
    assert_true(chance_of_counts(UINT64_MAX, UINT64_MAX, 0.5) == 1);
    assert_true(chance_of_counts(0, UINT64_MAX, 0.5) < 1e-300);
    assert_true(chance_of_shares(UINT64_MAX / 4, UINT64_MAX, UINT64_MAX / 2,
                                 UINT64_MAX) < 1e-300);
}

static void
correct__many_rows__the_first_pays_for_all(void **state)
{
    double rows[] = {0.5, 0.01, 0.02, 0.9};
    double *order[] = {&rows[1], &rows[2], &rows[0], &rows[3]};

    (void)state;
    chance_correct(order, 4);
    assert_close(rows[1], 0.04);
    assert_close(rows[2], 0.06);
    assert_true(rows[0] == 1);
    assert_true(rows[3] == 1);
    chance_correct(order, 0);
}

/* --- noise --- */

static uint64_t noise = 88172645463325252u;

/* 0 to 1, the same each time the test runs. */
static double
uniform(void)
{
    noise ^= noise << 13;
    noise ^= noise >> 7;
    noise ^= noise << 17;
    return (double)(noise >> 11) / 9007199254740992.0;
}

static uint64_t
poisson(double mean)
{
    const double end = exp(-mean);
    double product = uniform();
    uint64_t count = 0;

    for (; product > end; product *= uniform()) {
        count++;
    }
    return count;
}

static int
compare_chances(const void *left, const void *right)
{
    const double a = **(double *const *)left;
    const double b = **(double *const *)right;

    return (a > b) - (a < b);
}

enum { ROWS = 60, REPORTS = 400 };

/* The smallest chance of a report of rows that did not change, new ones sampled rate
 * times as often. */
static double
smallest_chance_of_noise(double rate)
{
    double chances[ROWS];
    double *order[ROWS];
    size_t count = 0;

    for (size_t i = 0; i < ROWS; i++) {
        const double mean = 400.0 / (double)(1 + i * i / 4);
        const uint64_t old_hits = poisson(mean);
        const uint64_t new_hits = poisson(mean * rate);

        if (old_hits + new_hits >= CHANCE_HITS_MIN) {
            chances[count] = chance_of_counts(old_hits, new_hits, rate / (1 + rate));
            order[count] = &chances[count];
            count++;
        }
    }
    qsort(order, count, sizeof(*order), compare_chances);
    chance_correct(order, count);
    return count > 0 ? *order[0] : 1;
}

static void
noise__in_many_reports__news_in_no_more_than_promised(void **state)
{
    static const double rates[] = {1, 0.2, 1.7};

    (void)state;
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        unsigned wrong = 0;

        for (unsigned report = 0; report < REPORTS; report++) {
            wrong += smallest_chance_of_noise(rates[i]) < 0.05;
        }
        assert_true(wrong <= REPORTS / 20);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts__small_and_large__exact),
        cmocka_unit_test(shares__small_and_large__exact),
        cmocka_unit_test(shares__of_up_to_64_bits__exact),
        cmocka_unit_test(counts__most_on_one_side__as_of_the_few),
        cmocka_unit_test(chance__too_few_or_no_other_row__one),
        cmocka_unit_test(chance__more_hits_than_are_added_up__goes_on),
        cmocka_unit_test(correct__many_rows__the_first_pays_for_all),
        cmocka_unit_test(noise__in_many_reports__news_in_no_more_than_promised),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
