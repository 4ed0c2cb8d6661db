/* SPDX-License-Identifier: MIT */
/*
 * thread.h - the threads of a recording that distinguishes them, with their names. Hits
 * are counted by the number of their thread.
 */
#ifndef RECORD_COLLECT_THREAD_H
#define RECORD_COLLECT_THREAD_H

#include "base/hash_index.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the name of a thread, with its NUL. */
enum { THREAD_NAME_BYTES = 16 };

struct thread {
    uint64_t process; /* serial number of its process: pids are used again */
    uint32_t pid;
    uint32_t tid;
    uint64_t hits;                /* when it is a power of two, the name is read */
    char name[THREAD_NAME_BYTES]; /* that of its process, until its own was read */
};

/* thread_set - threads by number, from 1; 0 is an unknown one. All zero is empty. */
struct thread_set {
    struct thread *items;
    uint32_t count;
    uint32_t capacity;
    struct hash_index index;
};

/* Free all threads; the set is empty then. */
void thread_set_finish(struct thread_set *set);

/*
 * Find a thread, which was hit once more, and read its name now and then: threads name
 * themselves after they have begun.
 *
 *   process  serial number of its process
 *   name     of its process
 *   add      add it if it is new
 *
 * Returns its number, or 0 if it is new and cannot be added.
 */
uint32_t thread_set_hit(struct thread_set *set, uint64_t process, uint32_t pid,
                        uint32_t tid, const char *name, bool add);

#endif
