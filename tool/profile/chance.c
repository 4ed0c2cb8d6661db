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

/*
 * Logarithms of probabilities are added up from small numbers only, as Loader does
 * ("Fast and accurate computation of binomial probabilities", 2000). Logarithms of
 * factorials would cancel: at 1e16 two neighbouring doubles of them are 64 apart.
 */

/* From here on Stirling's series is exact to the last digits. */
#define STIRLING_MIN 16

/* Return log(n!) - n log(n) + n, which grows as log(n). */
static double
factorial_rest(double n)
{
    const double square = n * n;
    int sign;

    if (n == 0) {
        return 0;
    }
    if (n < STIRLING_MIN) {
        return lgamma_r(n + 1, &sign) - n * log(n) + n;
    }
    return 0.5 * log(2 * M_PI * n) +
           (1 / 12.0 -
            (1 / 360.0 - (1 / 1260.0 - 1 / 1680.0 / square) / square) / square) /
               n;
}

/* Return seen log(seen / mean) - seen + mean, at least 0. */
static double
deviance(double seen, double mean)
{
    const double part = (seen - mean) / mean;

    return seen == 0 ? mean : mean * ((1 + part) * log1p(part) - part);
}

/* Return the logarithm of the probability of k of n, each with the probability part;
 * rest is 1 - part. */
static double
log_binomial(double n, double k, double part, double rest)
{
    return factorial_rest(n) - factorial_rest(k) - factorial_rest(n - k) -
           deviance(k, n * part) - deviance(n - k, n * rest);
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
    if (new_part > 0.5) {
        return chance_of_counts(new_hits, old_hits, 1 - new_part); /* count the fewer */
    }
    return both_tails(&of, seen, n * new_part, n * new_part * (1 - new_part),
                      log_binomial(n, seen, new_part, 1 - new_part));
}

/* Compare shares of a row with at most half of all hits; the new side has at most half,
 * too. So if the tail is added up, the mean is small, and counts are exact. */
static double
chance_of_fewer(uint64_t old_hits, uint64_t old_total, uint64_t new_hits,
                uint64_t new_total)
{
    const double seen = (double)new_hits;
    const double n = (double)old_hits + seen;
    const double drawn = (double)new_total;
    const double all = (double)old_total + drawn;
    const double part = n / all;
    const struct distribution of = {.n = n, .drawn = drawn, .other = all - n};
    const double new_part = drawn / all;
    const double old_part = (double)old_total / all;

    return both_tails(&of, seen, drawn * part,
                      drawn * part * (1 - part) * (all - drawn) / (all - 1),
                      log_binomial(n, seen, new_part, old_part) +
                          log_binomial(all - n, drawn - seen, new_part, old_part) -
                          log_binomial(all, drawn, new_part, old_part));
}

double
chance_of_shares(uint64_t old_hits, uint64_t old_total, uint64_t new_hits,
                 uint64_t new_total)
{
    const uint64_t old_rest = old_total - old_hits;
    const uint64_t new_rest = new_total - new_hits;
    const double n = (double)old_hits + (double)new_hits;

    /* If the row has all hits of both sides, no other row could have gained or lost. */
    if (n < CHANCE_HITS_MIN || old_total == 0 || new_total == 0 ||
        (old_rest == 0 && new_rest == 0)) {
        return 1;
    }
    if (new_total > old_total) {
        return chance_of_shares(new_hits, new_total, old_hits, old_total);
    }
    return n > (double)old_rest + (double)new_rest
               ? chance_of_fewer(old_rest, old_total, new_rest, new_total)
               : chance_of_fewer(old_hits, old_total, new_hits, new_total);
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
