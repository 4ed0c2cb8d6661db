/* SPDX-License-Identifier: MIT */
/*
 * preload_memory.h - the memory that preload objects count into, read as what hostile
 * programs may have written.
 *
 * Each value is copied once and checked before it is used. One that cannot be right is
 * left out and counted in refused. The memory is sealed, so nobody can shorten it.
 */
#ifndef RECORD_COLLECT_PRELOAD_MEMORY_H
#define RECORD_COLLECT_PRELOAD_MEMORY_H

#include "preload/shared.h"
#include "record/collect/stack_socket.h"

#include <stdbool.h>

struct preload_memory {
    int fd;
    struct preload_shared *shared;
    uint64_t interval_ns; /* as given: programs may change the header */
    uint32_t bucket_log2;
    uint64_t refused;           /* records and counts that cannot be believed */
    uint64_t lost_rings;        /* that could not be mapped or received */
    uint64_t denied_rings;      /* that a security module refused */
    struct stack_socket socket; /* with stack_bytes */
    uint32_t ring_slots;        /* of the ring of each process, with stack_bytes */
    uint32_t stack_bytes;       /* of a copy, at most; 0: no stacks */
};

/* preload_code - a checked segment. */
struct preload_code {
    uint64_t offset;
    uint64_t length;
    uint64_t inode;
    uint32_t device_major;
    uint32_t device_minor;
    uint32_t process; /* number of the first that mapped it; 0: unknown */
    char program[PRELOAD_NAME_BYTES]; /* ends with a 0, as path does */
    char path[PRELOAD_PATH_MAX];
};

/*
 * Make the memory. Returns 0 or a negative errno.
 *
 *   bucket_log2  at most COUNTED_LOG2_MAX
 */
int preload_memory_open(struct preload_memory *memory, uint64_t interval_ns,
                        uint32_t bucket_log2);

/*
 * Have processes report stacks. Called before any is started. Returns 0 or a negative
 * errno.
 *
 *   stack_bytes  of a copy, at most: a multiple of 8 from 512 to 65528
 */
int preload_memory_add_stacks(struct preload_memory *memory, uint32_t stack_bytes);

void preload_memory_close(struct preload_memory *memory);

/* Number of the last process or segment; they are numbered from 1. Any may not be ready
 * yet. */
uint32_t preload_memory_processes(const struct preload_memory *memory);
uint32_t preload_memory_segments(const struct preload_memory *memory);

/* Number of processes that had no place in the memory, and of processes and segments
 * together. */
uint64_t preload_memory_refused_processes(const struct preload_memory *memory);
uint64_t preload_memory_refusals(const struct preload_memory *memory);

/* Copy a process. Returns false if it is not ready or makes no sense. */
bool preload_memory_process(const struct preload_memory *memory, uint32_t number,
                            struct preload_process *process);

/* Has a segment been written completely? */
bool preload_memory_is_ready(const struct preload_memory *memory, uint32_t number);

/* Copy a segment that is ready. Returns false, and counts it as refused, if it makes no
 * sense. */
bool preload_memory_segment(struct preload_memory *memory, uint32_t number,
                            struct preload_code *code);

/*
 * preload_memory_hits - called for a slot (the counter of one bucket) that has hits.
 *
 *   key  preload/shared.h has what it means; may be any number but 0
 *
 * Returns whether the hits were taken; else they go back to the slot.
 */
typedef bool preload_memory_hits(void *context, uint64_t key, uint32_t hits);

/* Take the hits of all slots. Each hit is taken once, even if it arrives during the
 * call. Returns false if some were not taken; they stay in their slots. */
bool preload_memory_take(struct preload_memory *memory, preload_memory_hits *take,
                         void *context);

/* Return how many hits had no slot, so far. */
uint64_t preload_memory_lost(const struct preload_memory *memory);

/* Return how many programs without a record cannot have loaded a preload object. */
uint64_t preload_memory_unloaded(const struct preload_memory *memory);

#endif
