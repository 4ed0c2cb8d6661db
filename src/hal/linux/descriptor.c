/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/descriptor.c - the set of descriptors that forked children close, a bitmap.
 *
 * Process-wide, as descriptors are. A bit is set after its descriptor was opened and
 * cleared before it is closed, so the bit never stands for another descriptor with the
 * same number. Parts of the bitmap are allocated when first needed and never freed.
 */
#include "hal/linux/descriptor.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORD_BITS = 64, PART_WORDS = 512, PART_BITS = PART_WORDS * WORD_BITS };

/* For the default of fs.nr_open; children keep descriptors above it. */
enum { PARTS = 1048576 / PART_BITS };

static uint64_t *parts[PARTS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
close_part(uint64_t *part, int first)
{
    for (int i = 0; i < PART_WORDS; i++) {
        while (part[i] != 0) {
            (void)close(first + i * WORD_BITS + __builtin_ctzll(part[i]));
            part[i] &= part[i] - 1;
        }
    }
}

/* In the child there is no other thread. */
static void
close_in_child(void)
{
    for (int i = 0; i < PARTS; i++) {
        if (parts[i] != NULL) {
            close_part(parts[i], i * PART_BITS);
        }
    }
}

static void
prepare(void)
{
    (void)pthread_atfork(NULL, NULL, close_in_child);
}

/* Return the word with a descriptor's bit; NULL if its part is not allocated. */
static uint64_t *
find_word(int fd)
{
    uint64_t *const part =
        fd < PARTS * PART_BITS
            ? __atomic_load_n(&parts[fd / PART_BITS], __ATOMIC_ACQUIRE)
            : NULL;

    return part != NULL ? &part[fd % PART_BITS / WORD_BITS] : NULL;
}

static void
make_part(int fd)
{
    uint64_t *none = NULL;
    uint64_t *const part = calloc(PART_WORDS, sizeof(*part));

    if (part != NULL &&
        !__atomic_compare_exchange_n(&parts[fd / PART_BITS], &none, part, 0,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        free(part); /* another thread was first */
    }
}

static uint64_t
bit_of(int fd)
{
    return (uint64_t)1 << (fd % WORD_BITS);
}

int
perf_descriptor_own(int fd)
{
    uint64_t *word;

    if (fd < 0) {
        return fd;
    }
    pthread_once(&once, prepare);
    word = find_word(fd);
    if (word == NULL && fd < PARTS * PART_BITS) {
        make_part(fd);
        word = find_word(fd);
    }
    if (word != NULL) {
        (void)__atomic_fetch_or(word, bit_of(fd), __ATOMIC_RELAXED);
    }
    return fd;
}

void
perf_descriptor_close(int fd)
{
    uint64_t *const word = find_word(fd);

    if (word != NULL) {
        (void)__atomic_fetch_and(word, ~bit_of(fd), __ATOMIC_RELAXED);
    }
    close(fd);
}
