/* SPDX-License-Identifier: MIT */
/*
 * program.h - the programs of a recording: names of processes and, where they are
 * wanted, the units that they belong to. Hits are counted by the number of the program.
 *
 * A number is used again once program_set_free has freed it.
 */
#ifndef RECORD_COLLECT_PROGRAM_H
#define RECORD_COLLECT_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    /* Number of different programs; the hits of all others belong to "[other]". */
    PROGRAM_SET_MAX = 256,
    /* Of recordings without an end, in which programs also differ by their units. */
    PROGRAM_SET_ENDLESS_MAX = 1024,
};

struct program {
    char *name;     /* NULL: the number is free */
    char *unit;     /* systemd unit or container; "" if unknown */
    uint64_t users; /* number of processes; the collector maintains it */
};

struct program_set {
    struct program items[PROGRAM_SET_ENDLESS_MAX + 1];
    uint32_t count; /* numbers in use, and free ones below them */
    uint32_t max;
};

/* Free all programs. */
void program_set_finish(struct program_set *set);

/* Find or add a program and store its number. Once the set has max programs, new ones
 * become "[other]". Returns false if memory runs out. */
bool program_set_find(struct program_set *set, const char *name, const char *unit,
                      uint32_t *number);

/* Free a number, so that another program can have it. No hits may be left of it. */
void program_set_free(struct program_set *set, uint32_t number);

#endif
