/* SPDX-License-Identifier: MIT */
/*
 * walked.c - a program whose stack is asked about at each instruction: signals in
 * functions of libc, jumps over frames, calls by libc, frames of any size, recursion.
 * It goes on until it is killed.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int handled;
static char buffer[512];
static jmp_buf back;

static void
handle(int number)
{
    char text[64];

    snprintf(text, sizeof(text), "%d of %d", handled++, number);
    memset(buffer, text[0], sizeof(buffer));
    if (handled % 3 == 0 && number == SIGUSR1) {
        raise(SIGUSR2); /* a handler in a handler */
    }
}

static int
compare(const void *left, const void *right)
{
    if (handled % 7 == 1) {
        raise(SIGUSR1);
    }
    return *(const int *)left - *(const int *)right;
}

static void
sort(void)
{
    int numbers[12];

    for (int i = 0; i < 12; i++) {
        numbers[i] = i * 7 % 12;
    }
    qsort(numbers, 12, sizeof(numbers[0]), compare);
    buffer[0] = (char)numbers[handled % 12];
}

/* A frame whose size the compiler does not know: it is found by rbp. */
static size_t
fill(size_t size)
{
    char room[size];

    memset(room, 1, size);
    raise(SIGUSR1);
    return strnlen(room, size);
}

/* A frame that is aligned more than calls are. */
static double
align(double value)
{
    _Alignas(64) volatile double wide[8] = {value};

    wide[handled % 8] += value;
    raise(SIGUSR2);
    return wide[handled % 8];
}

static __attribute__((noinline)) void
jump(int depth)
{
    volatile int here = depth;

    if (depth == 0) {
        longjmp(back, 1);
    }
    jump(here - 1);
    buffer[here] = 0; /* no tail call */
}

static __attribute__((noinline)) int
recurse(int depth)
{
    return depth == 0 ? (int)strlen(buffer) : recurse(depth - 1) + (buffer[depth] & 1);
}

static void
allocate(void)
{
    char *const text = malloc(3000);

    if (text != NULL) {
        strcpy(text, "text");
        memcpy(text + 4, buffer, 2000);
        raise(SIGUSR1);
        free(text);
    }
}

int
main(void)
{
    volatile unsigned int round = 0;

    signal(SIGUSR1, handle);
    signal(SIGUSR2, handle);
    for (;;) {
        sort();
        buffer[sizeof(buffer) - 1] = 0;
        buffer[1] = (char)(fill(100 + round % 50) + (size_t)align(round));
        /* In longjmp tables have rules that are not followed: not too often. */
        if (round % 4 == 2 && setjmp(back) == 0) {
            jump(12);
        }
        buffer[2] = (char)recurse(30);
        allocate();
        round++;
    }
}
