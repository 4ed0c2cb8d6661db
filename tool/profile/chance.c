/* SPDX-License-Identifier: MIT */
/*
 * chance.c - exact tests of counts: sums of the tail of their distribution.
 *
 * Each term is the previous one times a ratio. The sum starts at the observed count and
 * moves away from the mean, so the terms decrease. For many hits this would take long;
 * the normal distribution is used instead.
 */
#include "profile/chance.h"

#include <assert.h>
#include <math.h>

/*
 * Above this variance the normal distribution is used. Its chance differs by at most a
 * twentieth where the chance is one in ten thousand. Below it, a tail has at most about
 * 1400 terms.
 */
#define VARIANCE_NORMAL 2.5e4

/* Terms below this fraction of the sum do not change it. */
#define TERM_MIN 1e-17

static double
log_factorial(double n)
{
    int sign;

    return lgamma_r(n + 1, &sign);
}

static double
log_choose(double n, double k)
{
    return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

/* Return the probability of both tails at the distance of seen from mean. */
static double
normal_chance(double seen, double mean, double variance)
{
    /* Continuity correction: counts are whole numbers. */
    const double distance = fabs(seen - mean) - 0.5;

    return distance > 0 ? erfc(distance / sqrt(2 * variance)) : 1;
}

/* distribution - that of the number of hits on the new side, of a row's n hits on both
 * sides. */
struct distribution {
    double n;
    double odds;  /* binomial: odds of the new side */
    double drawn; /* hypergeometric: all hits of the new side; 0: binomial */
    double other; /* hypergeometric: hits of other rows on both sides */
};

/* ratio - over / under, kept apart so that the inverse can be formed, too. */
struct ratio {
    double over, under;
};

/* Return probability(k + 1) / probability(k). */
static struct ratio
step_up(const struct distribution *of, double k)
{
    if (of->drawn > 0) {
        return (struct ratio){(of->n - k) * (of->drawn - k),
                              (k + 1) * (of->other - of->drawn + k + 1)};
    }
    return (struct ratio){(of->n - k) * of->odds, k + 1};
}

/* Return the probability of seen and of all values farther from the mean; probability
 * is that of seen. */
static double
tail(const struct distribution *of, double seen, double probability, bool upwards)
{
    double term = probability;
    double sum = term;

    for (double k = seen; term > sum * TERM_MIN; k += upwards ? 1 : -1) {
        const struct ratio ratio = step_up(of, upwards ? k : k - 1);
        const double step =
            upwards ? ratio.over / ratio.under : ratio.under / ratio.over;

        if ((upwards ? k >= of->n : k <= 0) || !(step > 0) || !isfinite(step)) {
            break;
        }
        term *= step;
        sum += term;
    }
    return sum;
}

/* Return the probability that chance alone gives a value as far from the mean as seen,
 * on either side: twice the tail that seen is in. log_probability is that of seen. */
static double
both_tails(const struct distribution *of, double seen, double mean, double variance,
           double log_probability)
{
    double chance;

    if (variance > VARIANCE_NORMAL) {
        return normal_chance(seen, mean, variance);
    }
    chance = 2 * tail(of, seen, exp(log_probability), seen >= mean);
    return chance < 1 ? chance : 1;
}

double
chance_of_counts(uint64_t old_hits, uint64_t new_hits, double new_part)
{
    const double seen = (double)new_hits;
    const double n = (double)old_hits + seen;
    const struct distribution of = {.n = n, .odds = new_part / (1 - new_part)};

    if (n < CHANCE_HITS_MIN) {
        return 1;
    }
    return both_tails(&of, seen, n * new_part, n * new_part * (1 - new_part),
                      log_choose(n, seen) + seen * log(new_part) +
                          (n - seen) * log1p(-new_part));
}

double
chance_of_shares(uint64_t old_hits, uint64_t old_total, uint64_t new_hits,
                 uint64_t new_total)
{
    const double seen = (double)new_hits;
    const double n = (double)old_hits + seen;
    const double drawn = (double)new_total;
    const double all = (double)old_total + drawn;
    const double part = n / all;
    const struct distribution of = {.n = n, .drawn = drawn, .other = all - n};

    /* If the row has all hits of a side, or of both, no other row could have gained or
     * lost. */
    if (n < CHANCE_HITS_MIN || old_total == 0 || new_total == 0 || n >= all) {
        return 1;
    }
    return both_tails(&of, seen, drawn * part,
                      drawn * part * (1 - part) * (all - drawn) / (all - 1),
                      log_choose(n, seen) + log_choose(all - n, drawn - seen) -
                          log_choose(all, drawn));
}

void
chance_correct(double **probabilities, size_t count)
{
    double before = 0;

    for (size_t i = 1; i < count; i++) {
        assert(*probabilities[i - 1] <= *probabilities[i]);
    }
    for (size_t i = 0; i < count; i++) {
        const double corrected = *probabilities[i] * (double)(count - i);

        if (corrected > before) {
            before = corrected < 1 ? corrected : 1;
        }
        *probabilities[i] = before;
    }
}
