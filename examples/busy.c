/* SPDX-License-Identifier: MIT */
/*
 * busy.c - an ordinary program to profile: three kinds of work, the first the heaviest.
 *
 *   busy [SECONDS]   processor seconds to burn, 2 if not given
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ORDER = 96, SIEVE_LIMIT = 1 << 17, TEXT_BYTES = 1 << 16 };

static double left[ORDER][ORDER], right[ORDER][ORDER], product[ORDER][ORDER];
static uint8_t composite[SIEVE_LIMIT];
static char text[TEXT_BYTES];

static double
multiply_matrices(void)
{
    for (int row = 0; row < ORDER; row++) {
        for (int column = 0; column < ORDER; column++) {
            double sum = 0;

            for (int i = 0; i < ORDER; i++) {
                sum += left[row][i] * right[i][column];
            }
            product[row][column] = sum;
        }
    }
    return product[ORDER / 2][ORDER / 3];
}

static unsigned
count_primes(void)
{
    unsigned primes = 0;

    memset(composite, 0, sizeof(composite));
    for (size_t n = 2; n < SIEVE_LIMIT; n++) {
        if (!composite[n]) {
            primes++;
            for (size_t multiple = n * n; multiple < SIEVE_LIMIT; multiple += n) {
                composite[multiple] = 1;
            }
        }
    }
    return primes;
}

static uint32_t
hash_text(uint32_t seed)
{
    uint32_t hash = seed ^ 2166136261u;

    for (size_t i = 0; i < TEXT_BYTES; i++) {
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    }
    return hash;
}

int
main(int argc, char **argv)
{
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 2.0;
    const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    double trace = 0;
    unsigned primes = 0, rounds = 0;
    uint32_t hash = 0;

    for (int i = 0; i < ORDER * ORDER; i++) {
        left[i / ORDER][i % ORDER] = i % 7;
        right[i / ORDER][i % ORDER] = i % 5;
    }
    for (int i = 0; i < TEXT_BYTES; i++) {
        text[i] = (char)('a' + i % 26);
    }

    do {
        trace += multiply_matrices();
        primes = count_primes();
        hash = hash_text(hash);
        rounds++;
    } while (clock() < end);

    printf("busy: %u rounds, %u primes, hash %08x, trace %.0f\n", rounds, primes, hash,
           trace);
    return 0;
}
