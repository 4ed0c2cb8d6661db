/* SPDX-License-Identifier: MIT */
/*
 * chance.c - exact tests of counts, by adding up the tail of their distribution.
 *
 * Terms follow from each other by multiplication, beginning at what was seen and going
 * away from the middle, where they only get smaller. With so many hits that this would
 * take long, the normal distribution says the same.
 */
#include "report/chance.h"

#include <math.h>

/*
 * From this variance on the normal distribution is as good: within a twentieth where
 * the chance is one in ten thousand. A tail has at most some 1400 terms then, or diff
 * would take its time for them.
 */
#define VARIANCE_NORMAL 2.5e4

/* Terms below this part of the sum change nothing. */
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

/* Both tails, as far from mean as seen is. */
static double
normal_chance(double seen, double mean, double variance)
{
    /* Counts are whole: half a step belongs to what was seen. */
    const double distance = fabs(seen - mean) - 0.5;

    return distance > 0 ? erfc(distance / sqrt(2 * variance)) : 1;
}

/* distribution - of how many of the n hits of a row are on the new side. */
struct distribution {
    double n;
    double odds;  /* binomial: of the new side */
    double drawn; /* hypergeometric: all hits of the new side; 0: it is binomial */
    double other; /* hypergeometric: hits of other rows on both sides */
};

/* ratio - a quotient, so that its inverse costs no second division. */
struct ratio {
    double over, under;
};

/* How much likelier k + 1 is than k. */
static struct ratio
step_up(const struct distribution *of, double k)
{
    if (of->drawn > 0) {
        return (struct ratio){(of->n - k) * (of->drawn - k),
                              (k + 1) * (of->other - of->drawn + k + 1)};
    }
    return (struct ratio){(of->n - k) * of->odds, k + 1};
}

/* Probability of seen, which itself has probability, and of all behind it away from the
 * mean. */
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

    /* All hits of either side, or of both: there is no other row that it could lose to.
     */
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

    for (size_t i = 0; i < count; i++) {
        const double corrected = *probabilities[i] * (double)(count - i);

        if (corrected > before) {
            before = corrected < 1 ? corrected : 1;
        }
        *probabilities[i] = before;
    }
}
