/* SPDX-License-Identifier: MIT */
/*
 * preload/stack_ring.h - hits of one process with copies of their stacks, on the way
 * from its preload object to the command.
 *
 * A ring is a memfd of a fixed size that nobody but this process and the command has
 * mapped: no other program of the run, no child of a fork, no core dump, and no
 * descriptor is left open by which others could get it. It begins with this struct;
 * behind it are a word for each slot, and the slots.
 *
 *     FREE --writer takes it--> WRITING --writer publishes--> READY --command--> FREE
 *                               WRITING --command, if the writer is gone---------> FREE
 *
 * A word has the thread that writes the slot. Only whoever takes a free slot writes it;
 * only the command frees one. A writer that finds none free counts its hit in the
 * memory of all processes (shared.h), without callers. So a hit is in one of the two.
 *
 * The command believes nothing of it: the program can write here.
 */
#ifndef PRELOAD_STACK_RING_H
#define PRELOAD_STACK_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_RING_MAGIC UINT64_C(0x31736b636174736e) /* "nstacks1" */

/* The file's name, by which only people know it. */
#define STACK_RING_NAME "ntprof-stacks"

enum {
    STACK_RING_SLOTS_MIN = 64,
    STACK_RING_SLOTS_MAX = 4096,
    STACK_RING_BYTES_MIN = 512,   /* of a copy */
    STACK_RING_BYTES_MAX = 65528, /* a multiple of 8, as all */
    STACK_RING_EVENTS = 8192,
/* By DWARF's numbers, and behind them the address: of arm64 or x86-64. */
#if defined(__aarch64__)
    STACK_RING_REGISTERS = 33
#else
    STACK_RING_REGISTERS = 17
#endif
};

/* stack_ring_event - a change of the code that the process maps. */
struct stack_ring_event {
    uint64_t base;
    uint64_t length;
    uint32_t segment; /* number of a preload_segment; 0: not mapped any more */
    uint32_t unused;
};

struct stack_ring {
    uint64_t magic;
    uint32_t process;     /* number of its preload_process */
    uint32_t event_count; /* events that are written */
    uint32_t unused[12];
    struct stack_ring_event events[STACK_RING_EVENTS];
    uint32_t words[]; /* of slots */
};

/* stack_ring_slot - a hit. */
struct stack_ring_slot {
    uint64_t key;         /* of its counter: shared.h */
    uint32_t event_count; /* at the time of the hit */
    uint32_t stack_bytes; /* 0: the stack pointer is not in the thread's stack */
    uint64_t registers[STACK_RING_REGISTERS];
    uint8_t stack[]; /* from the stack pointer on */
};

_Static_assert(offsetof(struct stack_ring, events) == 64, "the words are aligned");
_Static_assert(offsetof(struct stack_ring_slot, stack) % 8 == 0, "slots are aligned");

static inline size_t
stack_ring_slot_bytes(uint32_t stack_bytes)
{
    return sizeof(struct stack_ring_slot) + stack_bytes;
}

static inline size_t
stack_ring_bytes(uint32_t slots, uint32_t stack_bytes)
{
    return sizeof(struct stack_ring) + (size_t)slots * sizeof(uint32_t) +
           (size_t)slots * stack_ring_slot_bytes(stack_bytes);
}

/* Whether rings may have that many slots, with copies of that size. */
static inline bool
stack_ring_allows(uint32_t slots, uint32_t stack_bytes)
{
    return slots >= STACK_RING_SLOTS_MIN && slots <= STACK_RING_SLOTS_MAX &&
           slots % 2 == 0 && stack_bytes >= STACK_RING_BYTES_MIN &&
           stack_bytes <= STACK_RING_BYTES_MAX && stack_bytes % 8 == 0;
}

static inline struct stack_ring_slot *
stack_ring_slot(struct stack_ring *ring, uint32_t slots, uint32_t stack_bytes,
                uint32_t at)
{
    uint8_t *const first = (uint8_t *)&ring->words[slots];

    return (struct stack_ring_slot *)(first + at * stack_ring_slot_bytes(stack_bytes));
}

/* ---- words ---- */

enum { STACK_RING_FREE = 0, STACK_RING_WRITING = 1, STACK_RING_READY = 2 };

static inline uint32_t
stack_ring_state(uint32_t word)
{
    return word & 3;
}

static inline uint32_t
stack_ring_writer(uint32_t word)
{
    return word >> 2;
}

/* Take the first free slot, so that a ring whose hits are taken in time touches few
 * pages. Returns slots if there is none. */
static inline uint32_t
stack_ring_take(struct stack_ring *ring, uint32_t slots, uint32_t tid)
{
    for (uint32_t at = 0; at < slots; at++) {
        uint32_t word = __atomic_load_n(&ring->words[at], __ATOMIC_RELAXED);

        /* Pairs with the release by which the command frees it: it has read all. */
        if (word == STACK_RING_FREE &&
            __atomic_compare_exchange_n(&ring->words[at], &word,
                                        tid << 2 | STACK_RING_WRITING, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            return at;
        }
    }
    return slots;
}

/* Publish a slot that was taken and is written. */
static inline void
stack_ring_publish(struct stack_ring *ring, uint32_t at, uint32_t tid)
{
    __atomic_store_n(&ring->words[at], tid << 2 | STACK_RING_READY, __ATOMIC_RELEASE);
}

#endif
