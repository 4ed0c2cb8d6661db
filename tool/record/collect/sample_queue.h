/* SPDX-License-Identifier: MIT */
/*
 * sample_queue.h - stacks that wait for their walk, in memory of a fixed size that no
 * core dump contains: they hold whatever was on the stacks of other programs.
 *
 * The caller's lock guards all calls. A sample may be written before sample_queue_push
 * and read before sample_queue_pop without it: nobody else uses its memory then.
 */
#ifndef RECORD_COLLECT_SAMPLE_QUEUE_H
#define RECORD_COLLECT_SAMPLE_QUEUE_H

#include <stddef.h>

struct sample_queue;

/*
 * Create a queue. Returns NULL if memory runs out.
 *
 *   bytes         of memory for samples, which are touched only when they are needed
 *   sample_bytes  of the largest sample; at most bytes
 */
struct sample_queue *sample_queue_create(size_t bytes, size_t sample_bytes);
void sample_queue_delete(struct sample_queue *queue); /* NULL is allowed */

/* Return memory for one more sample, or NULL if the queue is full. */
void *sample_queue_room(struct sample_queue *queue);

/* Append the sample that was written into that memory. */
void sample_queue_push(struct sample_queue *queue);

/* Return the oldest sample, or NULL if there is none. */
void *sample_queue_first(struct sample_queue *queue);

/* Remove the oldest sample. */
void sample_queue_pop(struct sample_queue *queue);

#endif
