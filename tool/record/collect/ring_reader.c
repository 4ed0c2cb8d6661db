/* SPDX-License-Identifier: MIT */
/* ring_reader.c - maps and reads a ring; each value is copied before it is checked. */
#include "record/collect/ring_reader.h"

#include "record/collect/stack_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Linux gives programs no addresses above. */
#define ADDRESS_LIMIT (UINT64_C(1) << 57)

struct ring_reader {
    struct stack_ring *ring;
    size_t bytes;
    uint32_t slots;
    uint32_t stack_bytes;
    uint32_t process;
    uint32_t written[]; /* by slot: its word at the last ring_reader_free_dead */
};

/* Is it memory that nobody can shorten? Of files of another kind nothing else is asked:
 * they may not answer. */
static bool
is_sealed(int fd)
{
    const int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

/* Map memory that is as large as a ring has to be. Returns NULL with errno set. */
static struct stack_ring *
map(int fd, size_t bytes)
{
    struct stat status;
    void *memory;
    int error;

    if (fstat(fd, &status) < 0 || status.st_size != (off_t)bytes) {
        errno = EINVAL;
        return NULL;
    }
    memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED) {
        /* It is sealed against writing, or was opened without the right to it. */
        errno = errno == EPERM || errno == EACCES ? EINVAL : errno;
        return NULL;
    }
    if (madvise(memory, bytes, MADV_DONTDUMP) != 0 ||
        madvise(memory, bytes, MADV_DONTFORK) != 0) {
        error = errno;
        munmap(memory, bytes);
        errno = error;
        return NULL;
    }
    return memory;
}

struct ring_reader *
ring_reader_new(int fd, uint32_t slots, uint32_t stack_bytes)
{
    const size_t bytes = stack_ring_bytes(slots, stack_bytes);
    struct ring_reader *reader;
    int error = 0;

    if (!is_sealed(fd)) {
        stack_socket_drop(fd);
        errno = EINVAL;
        return NULL;
    }
    reader = calloc(1, sizeof(*reader) + slots * sizeof(reader->written[0]));
    if (reader != NULL) {
        reader->bytes = bytes;
        reader->slots = slots;
        reader->stack_bytes = stack_bytes;
        reader->ring = map(fd, bytes);
    }
    if (reader == NULL || reader->ring == NULL) {
        error = errno;
    } else if (__atomic_load_n(&reader->ring->magic, __ATOMIC_RELAXED) !=
               STACK_RING_MAGIC) {
        error = EINVAL;
    }
    (void)close(fd);
    if (error != 0) {
        ring_reader_delete(reader);
        errno = error;
        return NULL;
    }
    reader->process = __atomic_load_n(&reader->ring->process, __ATOMIC_RELAXED);
    return reader;
}

void
ring_reader_delete(struct ring_reader *reader)
{
    if (reader != NULL && reader->ring != NULL) {
        munmap(reader->ring, reader->bytes);
    }
    free(reader);
}

uint32_t
ring_reader_process(const struct ring_reader *reader)
{
    return reader->process;
}

/* ---- Hits ---- */

/* Pairs with stack_ring_publish: a hit that is ready is written. */
static bool
is_ready(const struct ring_reader *reader, uint32_t at)
{
    return stack_ring_state(__atomic_load_n(&reader->ring->words[at],
                                            __ATOMIC_ACQUIRE)) == STACK_RING_READY;
}

bool
ring_reader_has_hits(const struct ring_reader *reader)
{
    uint32_t at = 0;

    while (at < reader->slots && !is_ready(reader, at)) {
        at++;
    }
    return at < reader->slots;
}

bool
ring_reader_next(const struct ring_reader *reader, uint32_t *at,
                 struct stack_ring_slot *hit)
{
    const struct stack_ring_slot *slot;

    while (*at < reader->slots && !is_ready(reader, *at)) {
        (*at)++;
    }
    if (*at >= reader->slots) {
        return false;
    }
    slot = stack_ring_slot(reader->ring, reader->slots, reader->stack_bytes, *at);
    memcpy(hit, slot, sizeof(*hit));
    if (hit->stack_bytes > reader->stack_bytes) {
        hit->stack_bytes = 0;
    }
    memcpy(hit->stack, slot->stack, hit->stack_bytes);
    return true;
}

void
ring_reader_free(struct ring_reader *reader, uint32_t at)
{
    /* Pairs with stack_ring_take. */
    __atomic_store_n(&reader->ring->words[at], STACK_RING_FREE, __ATOMIC_RELEASE);
}

/* ---- Writers that are gone ---- */

void
ring_reader_free_dead(struct ring_reader *reader, uint32_t pid)
{
    for (uint32_t at = 0; at < reader->slots; at++) {
        uint32_t word = __atomic_load_n(&reader->ring->words[at], __ATOMIC_RELAXED);
        const uint32_t tid = stack_ring_writer(word);

        if (stack_ring_state(word) == STACK_RING_WRITING &&
            word == reader->written[at] && tid != 0 && tid <= INT32_MAX &&
            tgkill((pid_t)pid, (pid_t)tid, 0) < 0 && errno == ESRCH) {
            /* An exchange: the thread may have published the slot, and ended, since the
             * word was read. */
            (void)__atomic_compare_exchange_n(&reader->ring->words[at], &word,
                                              STACK_RING_FREE, false, __ATOMIC_RELEASE,
                                              __ATOMIC_RELAXED);
        }
        reader->written[at] = word;
    }
}

/* ---- Code ---- */

uint32_t
ring_reader_event_count(const struct ring_reader *reader)
{
    /* Pairs with the release in stacks_change_code. */
    const uint32_t count =
        __atomic_load_n(&reader->ring->event_count, __ATOMIC_ACQUIRE);

    return count < STACK_RING_EVENTS ? count : STACK_RING_EVENTS;
}

bool
ring_reader_event(const struct ring_reader *reader, uint32_t number,
                  struct stack_ring_event *event)
{
    memcpy(event, &reader->ring->events[number], sizeof(*event));
    return event->length > 0 && event->length < ADDRESS_LIMIT &&
           event->base < ADDRESS_LIMIT;
}
