/* SPDX-License-Identifier: MIT */
/*
 * hal/timer/queue.h - a queue of hits: signal handlers of all threads put them, and one
 * thread at a time takes and delivers them. It has a fixed size: a hit for which there
 * is no place is lost, and counted.
 *
 * This is Vyukov's bounded queue: each place has a number, turn, that says which put or
 * take may use it next. Storing turn passes the place on; there is no lock.
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
    uint64_t put;   /* number of the next hit that is put; hits are numbered from 0 */
    uint64_t taken; /* number of the next hit that is taken; only the taker uses it */
    uint64_t lost;
};

/* timer_queue_init - map memory for the places. Returns false if there is none. */
bool timer_queue_init(struct timer_queue *queue);
void timer_queue_finish(struct timer_queue *queue);

/* timer_queue_put - put a hit. Called in signal handlers. */
void timer_queue_put(struct timer_queue *queue, uint64_t pc, uint32_t processor);

/* timer_queue_end - return the number of the next hit: all below it have been put. */
uint64_t timer_queue_end(const struct timer_queue *queue);

/* timer_queue_take - take the oldest hit; false if its number is end or above. Waits if
 * a handler is still writing it. */
bool timer_queue_take(struct timer_queue *queue, uint64_t end,
                      struct timer_queued *queued);

/* timer_queue_lost - return how many hits there was no place for. */
uint64_t timer_queue_lost(const struct timer_queue *queue);

/* timer_queue_bytes - return the memory that a queue takes. */
size_t timer_queue_bytes(void);

#endif
