/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/descriptor.c - the set of descriptors that forked children close, a bitmap.
 *
 * Process-wide, as descriptors are. A bit is set after its descriptor was opened and
 * cleared before it is closed, so the bit never stands for another descriptor with the
 * same number. Only the pages of the bitmap that are written take memory.
 */
#include "hal/linux/descriptor.h"

#include "log/log.h"

#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

/* As many descriptors as the default of fs.nr_open; children keep those above. */
enum { WORD_BITS = 64, DESCRIPTORS = 1048576 };

static uint64_t owned[DESCRIPTORS / WORD_BITS]; /* bit fd % 64 of word fd / 64 */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Close the parent's owned descriptors. Runs in a forked child before it has a second
 * thread, so nothing else changes the set. */
static void
close_in_child(void)
{
    for (int i = 0; i < DESCRIPTORS / WORD_BITS; i++) {
        while (owned[i] != 0) {
            (void)close(i * WORD_BITS + __builtin_ctzll(owned[i]));
            owned[i] &= owned[i] - 1;
        }
    }
}

static void
register_close_in_child(void)
{
    (void)pthread_atfork(NULL, NULL, close_in_child);
}

static uint64_t
bit_of(int fd)
{
    return (uint64_t)1 << (fd % WORD_BITS);
}

int
perf_descriptor_own(int fd)
{
    if (fd < 0 || fd >= DESCRIPTORS) {
        return fd;
    }
    pthread_once(&once, register_close_in_child);
    (void)__atomic_fetch_or(&owned[fd / WORD_BITS], bit_of(fd), __ATOMIC_RELAXED);
    return fd;
}

void
perf_descriptor_close(int fd)
{
    if (fd < 0) {
        return;
    }
    if (fd < DESCRIPTORS) {
        (void)__atomic_fetch_and(&owned[fd / WORD_BITS], ~bit_of(fd), __ATOMIC_RELAXED);
    }
    close(fd);
    LOG_DEBUG("descriptor %d closed, of an event, a BPF program or a process", fd);
}
