/* SPDX-License-Identifier: MIT */
/*
 * agent_memory.h - the memory that preloaded agents count into, read as what hostile
 * programs may have written.
 *
 * Each value is copied once and checked before it is used. One that cannot be right is
 * left out and counted in refused. The memory is sealed, so nobody can shorten it.
 */
#ifndef RECORD_COLLECT_PRELOAD_MEMORY_H
#define RECORD_COLLECT_PRELOAD_MEMORY_H

#include "preload/shared.h"

#include <stdbool.h>

struct agent_memory {
    int fd;
    struct preload_shared *shared;
    uint64_t interval_ns; /* as given: programs may change the header */
    uint32_t bucket_log2;
    uint64_t refused; /* records and counts that cannot be believed */
};

/* agent_code - a checked segment. */
struct agent_code {
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
int agent_memory_open(struct agent_memory *memory, uint64_t interval_ns,
                      uint32_t bucket_log2);

void agent_memory_close(struct agent_memory *memory);

/* Number of the last process or segment; they are numbered from 1. Any may not be ready
 * yet. */
uint32_t agent_memory_processes(const struct agent_memory *memory);
uint32_t agent_memory_segments(const struct agent_memory *memory);

/* Number of processes and segments that had no place in the memory. */
uint64_t agent_memory_refusals(const struct agent_memory *memory);

/* Copy a process. Returns false if it is not ready or makes no sense. */
bool agent_memory_process(const struct agent_memory *memory, uint32_t number,
                          struct preload_process *process);

/* Has a segment been written completely? */
bool agent_memory_is_ready(const struct agent_memory *memory, uint32_t number);

/* Copy a segment that is ready. Returns false, and counts it as refused, if it makes no
 * sense. */
bool agent_memory_segment(struct agent_memory *memory, uint32_t number,
                          struct agent_code *code);

/*
 * agent_memory_hits - called for a slot (the counter of one bucket) that has hits.
 *
 *   plain   the agent knew no segment for the code: number is that of a process; else
 *           that of a segment
 *   bucket  of the segment; if plain, of the address space
 *
 * Returns whether the hits were taken; else they go back to the slot.
 */
typedef bool agent_memory_hits(void *context, bool plain, uint32_t number,
                               uint64_t bucket, uint32_t hits);

/* Take the hits of all slots. Each hit is taken once, even if it arrives during the
 * call. Returns false if some were not taken; they stay in their slots. */
bool agent_memory_take(struct agent_memory *memory, agent_memory_hits *take,
                       void *context);

/* Return how many hits had no slot, so far. */
uint64_t agent_memory_lost(const struct agent_memory *memory);

#endif
