/* SPDX-License-Identifier: MIT */
/*
 * host/linux/locked.c - memory that stays resident, for counters of the library.
 *
 * Every page of it is charged against RLIMIT_MEMLOCK, of which containers often have 64
 * kB or 8 MB. So small buffers share pages: a slab is one page of units of one size, a
 * power of two; what needs more than half a page has pages of its own.
 *
 * Invariants, with the mutex of buffer.c held:
 * - A slab exists while a unit of it is taken: with the last one its page is given
 *   back.
 * - A slab is in the list of its size exactly while a unit of it is free.
 */
#include "host/linux/linuxp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The smallest size has one unit for each bit of a word, the largest two. */
enum { MOST_UNITS = 64, SIZES = 6 };

struct host_slab {
    LIST_ENTRY(host_slab) links;
    char *page;
    unsigned int size; /* index of the size: a page has MOST_UNITS >> size units */
    uint64_t taken;    /* bit n is set while unit n is in use */
};

static LIST_HEAD(, host_slab) slabs_with_room[SIZES];

int
host_memory_lock(uintptr_t start, size_t bytes)
{
    /* A direct call: sanitizers replace mlock by a function that does nothing. Whatever
     * the error is, EAGAIN has host_status return WORKING_SET_QUOTA, as NT does. */
    return syscall(SYS_mlock, start, bytes) == 0 ? 0 : -EAGAIN;
}

void
host_memory_unlock(uintptr_t start, size_t bytes)
{
    (void)syscall(SYS_munlock, start, bytes);
}

/* Map zeroed pages and lock them. */
static int
pages_make(size_t bytes, char **pages)
{
    void *made =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int error;

    if (made == MAP_FAILED) {
        return -errno;
    }
    error = host_memory_lock((uintptr_t)made, bytes);
    if (error != 0) {
        munmap(made, bytes);
        return error;
    }
    /* Where the caller has unmapped a buffer: these pages are locked too. */
    host_pins_leave((uintptr_t)made, bytes);
    *pages = made;
    return 0;
}

/* Return how many units a slab has. */
static unsigned int
slab_units(const struct host_slab *slab)
{
    return MOST_UNITS >> slab->size;
}

static size_t
slab_unit_bytes(const struct host_slab *slab)
{
    return host_page_bytes() / slab_units(slab);
}

/* Return the value of slab->taken if all units are taken. */
static uint64_t
slab_all(const struct host_slab *slab)
{
    return ~UINT64_C(0) >> (MOST_UNITS - slab_units(slab));
}

/* Add a slab of this size to the list of those with free units. */
static int
slab_create(unsigned int size)
{
    struct host_slab *slab = malloc(sizeof(*slab));
    int error;

    if (slab == NULL) {
        return -ENOMEM;
    }
    *slab = (struct host_slab){.size = size};
    error = pages_make(host_page_bytes(), &slab->page);
    if (error != 0) {
        free(slab);
        return error;
    }
    LIST_INSERT_HEAD(&slabs_with_room[slab->size], slab, links);
    return 0;
}

/* Take a free unit of a slab that has one. */
static char *
slab_take(struct host_slab *slab)
{
    const int unit = __builtin_ctzll(~slab->taken);

    slab->taken |= UINT64_C(1) << unit;
    if (slab->taken == slab_all(slab)) {
        LIST_REMOVE(slab, links);
    }
    return slab->page + (size_t)unit * slab_unit_bytes(slab);
}

/* Make a unit of a slab free again. A slab with only free units is freed. */
static void
slab_give_back(struct host_slab *slab, const char *memory)
{
    const size_t unit = (size_t)(memory - slab->page) / slab_unit_bytes(slab);

    if (slab->taken == slab_all(slab)) {
        LIST_INSERT_HEAD(&slabs_with_room[slab->size], slab, links);
    }
    slab->taken &= ~(UINT64_C(1) << unit);
    if (slab->taken == 0) {
        LIST_REMOVE(slab, links);
        munmap(slab->page, host_page_bytes());
        free(slab);
    }
}

/* Return the index of the smallest unit size that is large enough; SIZES: none is. */
static unsigned int
size_for(size_t bytes)
{
    unsigned int size = 0;

    while (size < SIZES && host_page_bytes() / (MOST_UNITS >> size) < bytes) {
        size++;
    }
    return size;
}

/* Take a unit of this size from a slab with room, or from a new one. Returns 0 or a
 * negative errno. */
static int
counters_from_slab(struct host_counters *counters, unsigned int size)
{
    const int error = LIST_EMPTY(&slabs_with_room[size]) ? slab_create(size) : 0;

    if (error != 0) {
        return error;
    }
    counters->slab = LIST_FIRST(&slabs_with_room[size]);
    counters->memory = slab_take(counters->slab);
    memset(counters->memory, 0, counters->bytes);
    return 0;
}

int
host_counters_make(struct host_counters *counters, size_t bytes)
{
    const size_t page_bytes = host_page_bytes();
    const unsigned int size = size_for(bytes);
    struct host_counters made = {.bytes = bytes};
    int error;

    if (size < SIZES) {
        error = counters_from_slab(&made, size);
    } else {
        made.bytes = (bytes + (page_bytes - 1)) & ~(page_bytes - 1);
        error = pages_make(made.bytes, &made.memory);
    }
    if (error == 0) {
        *counters = made;
    }
    return error;
}

void
host_counters_finish(struct host_counters *counters)
{
    if (counters->slab != NULL) {
        slab_give_back(counters->slab, counters->memory);
    } else if (counters->memory != NULL) {
        munmap(counters->memory, counters->bytes);
    }
    *counters = (struct host_counters){0};
}
