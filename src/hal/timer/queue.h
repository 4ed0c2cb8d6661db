/* SPDX-License-Identifier: MIT */
/*
 * hal/timer/queue.h - hits on their way from signal handlers, in any thread, to the one
 * that delivers. Of a fixed size: a hit that finds no place is lost, and counted.
 *
 * The queue is Vyukov's: each place has a number that says whose turn it is, and is
 * passed on by one store.
 */
#ifndef HAL_TIMER_QUEUE_H
#define HAL_TIMER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timer_queued {
    uint64_t pc;
    uint32_t processor;
};

struct timer_place;

struct timer_queue {
    struct timer_place *places;
    uint64_t put;   /* places taken by handlers, since the start */
    uint64_t taken; /* places delivered; only the one that delivers uses it */
    uint64_t lost;
};

/* Pages of its own. false: no memory. */
bool timer_queue_init(struct timer_queue *queue);
void timer_queue_finish(struct timer_queue *queue);

/* Put a hit; in a signal handler. */
void timer_queue_put(struct timer_queue *queue, uint64_t pc, uint32_t processor);

/* Return the number that the next hit will get: those below it are in the queue. */
uint64_t timer_queue_end(const struct timer_queue *queue);

/* Take the next hit, if its number is less than end. Waits for a handler that is
 * writing it. */
bool timer_queue_take(struct timer_queue *queue, uint64_t end,
                      struct timer_queued *queued);

/* Hits that found no place so far; memory that a queue takes. */
uint64_t timer_queue_lost(const struct timer_queue *queue);
size_t timer_queue_bytes(void);

#endif
