/* SPDX-License-Identifier: MIT */
/* thread.c - numbers and names of threads. */
#include "record/collect/thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
thread_set_finish(struct thread_set *set)
{
    free(set->items);
    hash_index_finish(&set->index);
    *set = (struct thread_set){0};
}

/* Read the name of a thread. If the thread has ended, it keeps the name
 * that was read before. */
static void
read_name(struct thread *thread)
{
    char path[64];
    char line[THREAD_NAME_BYTES + 1];
    size_t length;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", thread->pid,
             thread->tid);
    file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    /* A name may contain newlines; only the last one is not part of it. */
    length = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    if (length > 0 && line[length - 1] == '\n') {
        length--;
    }
    if (length >= sizeof(thread->name)) {
        length = sizeof(thread->name) - 1;
    }
    if (length > 0) {
        memcpy(thread->name, line, length);
        thread->name[length] = '\0';
    }
}

/* Add a thread. Returns its number, or 0 if memory runs out. */
static uint32_t
add_thread(struct thread_set *set, const struct thread *thread, uint32_t hash)
{
    if (set->count == set->capacity) {
        const uint32_t capacity = set->capacity == 0 ? 64 : set->capacity * 2;
        struct thread *const items =
            capacity > set->capacity
                ? reallocarray(set->items, capacity, sizeof(*items))
                : NULL;

        if (items == NULL) {
            return 0;
        }
        set->items = items;
        set->capacity = capacity;
    }
    if (!hash_index_add(&set->index, hash, set->count)) {
        return 0;
    }
    set->items[set->count] = *thread;
    return ++set->count;
}

/* Return the number of a thread, or 0 if it is new. */
static uint32_t
look_up(const struct thread_set *set, const struct thread *wanted, uint32_t hash)
{
    size_t probe = 0;

    for (uint32_t at = hash_index_find(&set->index, hash, &probe);
         at != HASH_INDEX_NONE; at = hash_index_find(&set->index, hash, &probe)) {
        if (set->items[at].process == wanted->process &&
            set->items[at].tid == wanted->tid) {
            return at + 1;
        }
    }
    return 0;
}

uint32_t
thread_set_hit(struct thread_set *set, uint64_t process, uint32_t pid, uint32_t tid,
               const char *name, bool add)
{
    struct thread wanted = {.process = process, .pid = pid, .tid = tid};
    const uint32_t hash = hash_mix(hash_mix(0, process), tid);
    uint32_t number = look_up(set, &wanted, hash);
    struct thread *thread;

    if (number == 0 && add) {
        strncpy(wanted.name, name, sizeof(wanted.name) - 1);
        number = add_thread(set, &wanted, hash);
    }
    if (number == 0) {
        return 0;
    }
    thread = &set->items[number - 1];
    thread->hits++;
    if ((thread->hits & (thread->hits - 1)) == 0) {
        read_name(thread);
    }
    return number;
}
