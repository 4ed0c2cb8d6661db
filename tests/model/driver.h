/* SPDX-License-Identifier: MIT */
/*
 * driver.h - makes the same random calls, interrupts and changes of the world on the
 * core and on the model, and compares all that can be seen after each step: statuses,
 * the caller's memory with all counters, statistics, halts, objects, locks and
 * interrupts.
 */
#ifndef TESTS_MODEL_DRIVER_H
#define TESTS_MODEL_DRIVER_H

#include "draw.h"
#include "model.h"

#include <stdio.h>

/* Whose rules hold. */
struct driver_rules {
    uint32_t version; /* NTPROF_NT_... */
    bool x86;
    bool wow64;
};

/* X(symbol, name) */
#define DRIVER_CALLS(X)                         \
    X(TEN, "NtCreateProfileEx")                 \
    X(NINE, "NtCreateProfile")                  \
    X(SEVEN, "NtCreateProfile 3.10")            \
    X(START, "NtStartProfile")                  \
    X(STOP, "NtStopProfile")                    \
    X(CLOSE, "NtClose")                         \
    X(OPEN, "NtOpenProcess")                    \
    X(DUPLICATE, "NtDuplicateObject")           \
    X(QUERY_OBJECT, "NtQueryObject")            \
    X(QUERY, "NtQueryIntervalProfile")          \
    X(SET, "NtSetIntervalProfile")              \
    X(QUERY_OLD, "NtQueryIntervalProfile 3.10") \
    X(SET_OLD, "NtSetIntervalProfile 3.10")

#define DRIVER_CALL_NAME(symbol, name) DRIVER_##symbol,
enum driver_call { DRIVER_CALLS(DRIVER_CALL_NAME) DRIVER_CALL_COUNT };
#undef DRIVER_CALL_NAME

#define DRIVER_COUNT_STATUS(name, value, text) +1
enum { DRIVER_STATUS_COUNT = 0 NTPROF_STATUS_TABLE(DRIVER_COUNT_STATUS) };
#undef DRIVER_COUNT_STATUS

/* What has been tried. */
struct driver_tally {
    uint64_t worlds;
    uint64_t steps;
    uint64_t calls;
    uint64_t hits;
    uint64_t changes;                                          /* of the world around */
    uint64_t statuses[DRIVER_CALL_COUNT][DRIVER_STATUS_COUNT]; /* order of the table */
    uint64_t reached[MODEL_BRANCH_COUNT];
};

const char *driver_call_name(enum driver_call call);

/* driver_status_index - its place in NTPROF_STATUS_TABLE; DRIVER_STATUS_COUNT if it has
 * none. */
size_t driver_status_index(NTSTATUS status);

/* driver_next_rules - all versions in all word sizes: index 0, 1, ...; false past the
 * last. */
bool driver_next_rules(size_t index, struct driver_rules *rules);

enum { DRIVER_MANY_STARTED = 1 /* begin close to the limit of started profiles */ };

struct driver_run {
    struct driver_rules rules;
    struct draw *draw;
    uint32_t most_steps;
    unsigned flags;
    struct driver_tally *tally; /* added to */
    FILE *trace;                /* every step is told, or NULL */
    char difference[512];       /* out: the first, or "" */
};

/* driver_run - one world from its beginning to its end; false if core and model differ.
 */
bool driver_run(struct driver_run *run);

#endif
