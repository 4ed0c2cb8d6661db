/* SPDX-License-Identifier: MIT */
/*
 * call.h - the calls that tables are about: how each is made of a row's keys, what must
 * hold when it has succeeded, and what it may come out as when something that it asks
 * for fails.
 */
#ifndef CONFORMANCE_CALL_H
#define CONFORMANCE_CALL_H

#include "world.h"

/* The arguments, evaluated before the call, and what the call leads to. */
struct call_arguments {
    EX_CREATE_PROFILE create;
    EX_DUPLICATE_OBJECT duplicate;
    HANDLE target;
    uint64_t address; /* of the variable that is written */
    uint64_t word;    /* bytes of a handle there */
    uint64_t length;
    uint64_t return_length;
    uint64_t number; /* pid, interval, class */
    ACCESS_MASK access;
    KPROFILE_SOURCE source;
    ULONG processor;
    ULONG selector;
    uint64_t offset;
    ULONG counted; /* a hit's */
    KE_STATISTICS statistics;
};

enum { CALL_REQUEST = 1, CALL_PREPARES = 2, CALL_EVERY_FORM = 4, CALL_HIT = 8 };

struct call {
    const char *name;
    unsigned flags;
    const char *keys; /* beside those of every table and those of requests */
    void (*gather)(struct world *world, struct call_arguments *arguments);
    NTSTATUS (*make)(struct world *world, struct call_arguments *arguments);
    /* What the call may write; returns how many. */
    size_t (*outputs)(const struct call_arguments *arguments,
                      struct world_range ranges[2]);
    /* May be NULL. */
    void (*check)(struct world *world, const struct call_arguments *arguments);
};

/* call_find - NULL if there is none of that name. */
const struct call *call_find(const char *name);

/* call_outcome - what the status column must say. */
const char *call_outcome(const struct call *call,
                         const struct call_arguments *arguments, NTSTATUS status);

/* What can be made to fail: the calls of enum host_sim_call but for ANY_CALL, and one
 * more. */
enum { CALL_HAL_START = HOST_SIM_ANY_CALL, CALL_KINDS };
extern const char *const call_kind_names[CALL_KINDS];

/* call_failure - what a call may come out as when a call of that kind fails. */
struct call_failure {
    const char *call;
    int kind;
    NTSTATUS cause;    /* what the host or the HAL says; 0: what it says by itself */
    NTSTATUS status;   /* what the call then gives */
    const char *rules; /* that publish it */
};

/* The index-th failure of the call by that kind, or NULL. */
const struct call_failure *call_failure(const struct call *call, int kind,
                                        size_t index);
const struct call_failure *call_failure_at(size_t index);

#endif
