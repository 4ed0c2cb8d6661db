/* SPDX-License-Identifier: MIT */
/* hal/timer/queue.c - a bounded queue of hits, from signal handlers to one reader. */
#include "hal/timer/queue.h"

#include <assert.h>
#include <sys/mman.h>
#include <time.h>

/* Enough for a second of hits of 60 threads at 250 Hz, or for a tenth of a second,
 * after which a session delivers, of 600. */
enum { PLACES = 1 << 14 };

struct timer_place {
    uint64_t turn; /* n: free for hit number n; n + 1: contains hit number n */
    uint64_t pc;
    uint32_t processor;
};

bool
timer_queue_init(struct timer_queue *queue)
{
    *queue = (struct timer_queue){0};
    queue->places = mmap(NULL, timer_queue_bytes(), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (queue->places == MAP_FAILED) {
        return false;
    }
    for (uint64_t i = 0; i < PLACES; i++) {
        queue->places[i].turn = i;
    }
    return true;
}

void
timer_queue_finish(struct timer_queue *queue)
{
    (void)munmap(queue->places, timer_queue_bytes());
}

void
timer_queue_put(struct timer_queue *queue, uint64_t pc, uint32_t processor)
{
    uint64_t number = __atomic_load_n(&queue->put, __ATOMIC_RELAXED);
    struct timer_place *place;

    for (;;) {
        uint64_t turn;

        place = &queue->places[number % PLACES];
        turn = __atomic_load_n(&place->turn, __ATOMIC_ACQUIRE);
        if (turn == number) {
            if (__atomic_compare_exchange_n(&queue->put, &number, number + 1, false,
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
                break;
            }
        } else if (turn < number) { /* full: the place has an older hit */
            __atomic_fetch_add(&queue->lost, 1, __ATOMIC_RELAXED);
            return;
        } else { /* another handler has taken this number */
            number = __atomic_load_n(&queue->put, __ATOMIC_RELAXED);
        }
    }
    place->pc = pc;
    place->processor = processor;
    __atomic_store_n(&place->turn, number + 1, __ATOMIC_RELEASE);
}

uint64_t
timer_queue_end(const struct timer_queue *queue)
{
    return __atomic_load_n(&queue->put, __ATOMIC_ACQUIRE);
}

bool
timer_queue_take(struct timer_queue *queue, uint64_t end, struct timer_queued *queued)
{
    const struct timespec pause = {0, 20000}; /* 20 us */
    struct timer_place *const place = &queue->places[queue->taken % PLACES];

    if (queue->taken >= end) {
        return false;
    }
    assert(end - queue->taken <= PLACES); /* the others were lost */
    while (__atomic_load_n(&place->turn, __ATOMIC_ACQUIRE) != queue->taken + 1) {
        assert(__atomic_load_n(&place->turn, __ATOMIC_RELAXED) <= queue->taken + 1);
        (void)nanosleep(&pause, NULL);
    }
    *queued = (struct timer_queued){place->pc, place->processor};
    __atomic_store_n(&place->turn, queue->taken + PLACES, __ATOMIC_RELEASE);
    queue->taken++;
    return true;
}

uint64_t
timer_queue_lost(const struct timer_queue *queue)
{
    return __atomic_load_n(&queue->lost, __ATOMIC_RELAXED);
}

size_t
timer_queue_bytes(void)
{
    return PLACES * sizeof(struct timer_place);
}
