/* SPDX-License-Identifier: MIT */
/*
 * stack_ring.c - fuzz target: a forged ring of hits with stacks, through what reads it.
 *
 * The data are pieces (pieces.h) of the ring, segments or paths. What must hold is
 * checked: statistics add up, and no place has more hits with callers than it has hits.
 */
#include "pieces.h"
#include "ring_sender.h"

#include "record/collect/collectorp.h"

#include <stdlib.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES = 512, PIECE_BYTES_MAX = 256 };

static void
check(int holds)
{
    if (!holds) {
        abort();
    }
}

/* Make a ring of process 1, whose number in other namespaces is unknown. */
static struct stack_ring *
make_ring(struct preload_memory *memory)
{
    struct stack_ring *const ring = ring_sender_make(memory, BYTES);

    memory->shared->process_count = 1;
    memory->shared->processes[1] =
        (struct preload_process){.ready = 1, .pid = 1, .kind = PRELOAD_EXECED};
    return ring;
}

/* forged - what pieces are put into. */
struct forged {
    const struct preload_memory *memory;
    struct stack_ring *ring;
};

/* Where a piece goes, and how many bytes it may have. */
static uint8_t *
find_place(void *context, uint8_t kind, uint16_t number, size_t *most)
{
    const struct forged *const forged = context;
    const struct preload_memory *const memory = forged->memory;
    struct stack_ring *const ring = forged->ring;
    struct preload_shared *const shared = memory->shared;

    *most = PIECE_BYTES_MAX;
    switch (kind % 6) {
    case 0:
        *most = offsetof(struct stack_ring, events);
        return (uint8_t *)ring;
    case 1:
        *most = sizeof(ring->events[0]);
        return (uint8_t *)&ring->events[number % STACK_RING_EVENTS];
    case 2:
        *most = sizeof(ring->words[0]);
        return (uint8_t *)&ring->words[number % memory->ring_slots];
    case 3:
        return (uint8_t *)stack_ring_slot(ring, memory->ring_slots, BYTES,
                                          number % memory->ring_slots);
    case 4:
        shared->segment_count = 8;
        *most = sizeof(shared->segments[0]);
        return (uint8_t *)&shared->segments[number % 8];
    default:
        *most = 24;
        return (uint8_t *)&shared->paths[number];
    }
}

/* Hits of a place of an image. */
static uint64_t
count_place(const struct counts *counts, uint64_t place, uint32_t program)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < counts->count; i++) {
        hits += counts->items[i].place == place && counts->items[i].program == program
                    ? counts->items[i].hits
                    : 0;
    }
    return hits;
}

/* Each row with callers is of a place that has as many hits. */
static void
check_rows(const struct collector *collector)
{
    struct callers_cut *const cut = callers_cut_make(collector->callers, CALLERS_ALL);

    check(cut != NULL);
    for (size_t i = 0; i < collector->images.count; i++) {
        const struct counts *const fresh = &collector->images.images[i]->fresh;

        for (size_t j = 0; j < fresh->count; j++) {
            struct stack_place place = {.address = fresh->items[j].place};
            const struct stack_row *rows;
            uint64_t hits = 0;
            size_t count;

            check(callers_owner((uint32_t)i, fresh->items[j].program, 0, &place.owner));
            rows = callers_cut_rows(cut, &place, &count);
            for (size_t k = 0; k < count; k++) {
                hits += rows[k].hits;
            }
            check(hits <= count_place(fresh, place.address, fresh->items[j].program));
        }
    }
    callers_cut_delete(cut);
}

static void
check_collector(struct collector *collector)
{
    ntprof_source_info info;

    check(collector_read(collector));
    info = collector->session_statistics[0];
    check(info.taken == info.counted + info.outside);
    check(info.expected == info.taken + info.lost + info.missed + info.unfinished);
    check_rows(collector);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const KPROFILE_SOURCE sources[] = {ProfileTime};
    struct preload_memory memory;
    const struct collector_options options = {.preloaded = &memory,
                                              .sources = sources,
                                              .source_count = 1,
                                              .bucket_bytes = 1,
                                              .user = true,
                                              .stack_bytes = BYTES,
                                              .contexts = STACK_CONTEXTS_MIN};
    struct collector *collector;
    struct stack_ring *ring;
    struct forged forged;

    check(preload_memory_open(&memory, 4000000, 0) == 0);
    check(preload_memory_add_stacks(&memory, BYTES) == 0);
    collector = collector_new(&options);
    check(collector != NULL);
    ring = make_ring(&memory);
    forged = (struct forged){&memory, ring};
    pieces_forge(data, size, find_place, &forged);
    check_collector(collector);
    /* The program writes on meanwhile. */
    pieces_forge(data + size / 2, size - size / 2, find_place, &forged);
    check_collector(collector);
    munmap(ring, stack_ring_bytes(memory.ring_slots, BYTES));
    collector_delete(collector);
    preload_memory_close(&memory);
    return 0;
}
