/* SPDX-License-Identifier: MIT */
/*
 * work.c - a program to be built by its own profile: a small interpreter, a sort and a
 * table, and two files of one name with functions of one name.
 */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>

enum { CODE = 4096, TABLE = 1 << 12, RARE = 97 };

static inline unsigned
mix(unsigned value)
{
    value ^= value << 13;
    value ^= value >> 17;
    return value ^ value << 5;
}

__attribute__((noinline)) static unsigned
interpret(const unsigned char *code, unsigned state)
{
    unsigned stack = state;

    for (int i = 0; i < CODE; i++) {
        switch (code[i] % 7) {
        case 0:
            state += stack;
            break;
        case 1:
            state = state % RARE == 0 ? one_part(state) : state ^ code[i];
            break;
        case 2:
            stack = mix(stack);
            break;
        case 3:
            state = (state & 1) != 0 ? mix(state + stack) : stack;
            break;
        case 4:
            state -= (unsigned)i;
            break;
        default:
            state = state << 3 | state >> 29;
        }
    }
    return state ^ stack;
}

static int
compare(const void *left, const void *right)
{
    const unsigned a = *(const unsigned *)left;
    const unsigned b = *(const unsigned *)right;

    return (a > b) - (a < b);
}

__attribute__((noinline)) unsigned
order_table(unsigned *table, unsigned seed)
{
    unsigned sum = 0;

    for (int i = 0; i < TABLE; i++) {
        seed = mix(seed);
        table[i] = seed;
    }
    qsort(table, TABLE, sizeof(*table), compare);
    for (int i = 0; i < TABLE; i += 16) {
        sum += table[i] ^ two_part((unsigned)i);
    }
    return sum;
}

__attribute__((noinline)) void
never(void)
{
    puts("never");
}

int
main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 100;
    static unsigned char code[CODE];
    static unsigned table[TABLE];
    unsigned state = 1;

    for (int i = 0; i < CODE; i++) {
        state = mix(state);
        code[i] = (unsigned char)(state >> 8);
    }
    for (int i = 0; i < rounds; i++) {
        state = interpret(code, state) + one_part(state);
        state += i % 8 == 0 ? order_table(table, state | 1) : two_part(state);
    }
    if (rounds < 0) {
        never();
    }
    printf("%u\n", state);
    return 0;
}
