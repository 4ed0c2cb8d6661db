/* SPDX-License-Identifier: MIT */
/*
 * sorts.c - work in libc: formats, copies and sorts texts.
 *
 * usage: sorts ROUNDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

int
main(int argc, char **argv)
{
    enum { COUNT = 2000 };
    static char *texts[COUNT];
    uint32_t state = 1;

    for (long round = argc > 1 ? atol(argv[1]) : 1; round > 0; round--) {
        for (int i = 0; i < COUNT; i++) {
            char text[32];

            state = state * 1664525u + 1013904223u;
            snprintf(text, sizeof(text), "row %u", (unsigned int)(state >> 8));
            texts[i] = strdup(text);
        }
        qsort(texts, COUNT, sizeof(*texts), compare);
        for (int i = 0; i < COUNT; i++) {
            free(texts[i]);
        }
    }
    return 0;
}
