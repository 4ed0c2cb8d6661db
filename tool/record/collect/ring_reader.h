/* SPDX-License-Identifier: MIT */
/*
 * ring_reader.h - a ring of hits with stacks (preload/stack_ring.h), read as what a
 * hostile program may have written.
 */
#ifndef RECORD_COLLECT_RING_READER_H
#define RECORD_COLLECT_RING_READER_H

#include "preload/stack_ring.h"

struct ring_reader;

/*
 * Map a ring. Returns NULL with errno set: EINVAL if it is none of this size or may not
 * be written, otherwise because memory ran out.
 *
 *   fd  is closed in any case, so that nobody gets it from this process
 */
struct ring_reader *ring_reader_new(int fd, uint32_t slots, uint32_t stack_bytes);
void ring_reader_delete(struct ring_reader *reader); /* NULL is allowed */

/* The number of its process, which it says. */
uint32_t ring_reader_process(const struct ring_reader *reader);

/* Whether there is a hit to be taken. */
bool ring_reader_has_hits(const struct ring_reader *reader);

/*
 * Copy the next hit. Returns false if there is none; it stays where it is until
 * ring_reader_free.
 *
 *   at   in and out: of its slot; 0 first, and one more for the next
 *   hit  out: stack_ring_slot_bytes of stack_bytes; its stack_bytes are at most those
 */
bool ring_reader_next(const struct ring_reader *reader, uint32_t *at,
                      struct stack_ring_slot *hit);

/* The hit at a slot was taken. */
void ring_reader_free(struct ring_reader *reader, uint32_t at);

/* Free slots whose threads ended while they wrote, of a running process with this pid,
 * which has the same numbers for its threads as we have. A slot is written within
 * microseconds, so a thread is looked for only if the slot was being written at the
 * last call too: call it now and then. */
void ring_reader_free_dead(struct ring_reader *reader, uint32_t pid);

/* Number of changes of the code, all of which can be read. */
uint32_t ring_reader_event_count(const struct ring_reader *reader);

/* Read a change, from 0 on. Returns false if it makes no sense. */
bool ring_reader_event(const struct ring_reader *reader, uint32_t number,
                       struct stack_ring_event *event);

#endif
