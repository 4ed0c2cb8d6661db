/* SPDX-License-Identifier: MIT */
/*
 * sample.c - what sample.s is made of, so that no test needs this clang:
 *
 *   clang-16 -S -O2 -g1 -fdebug-info-for-profiling -fno-ident -fno-vectorize \
 *     -fno-unroll-loops -fno-pic -fdebug-compilation-dir=. sample.c -o sample.s
 */
volatile int sink;

static inline int
weigh(int x)
{
    if (x % 3 == 0) {
        return x * 5;
    }
    return x ^ 0x55;
}

__attribute__((noinline)) static int
churn(int n)
{
    int sum = 0;
    /* clang-format off */
    for (int i = 0; i < n; i++) { sum += weigh(i) + (i & 1 ? sink : 2); }
    return sum;
}
/* clang-format on */
__attribute__((noinline)) int
settle(int n)
{
    return n < 0 ? -weigh(n) : weigh(n + 1) - churn(n);
}

int
main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 1000; i++) {
        sink = settle(argc * 1000 + i);
    }
    return 0;
}
