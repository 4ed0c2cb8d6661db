/* SPDX-License-Identifier: MIT */
#include "guarded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct buffer {
    struct buffer *next;
    struct guarded memory;
};

static struct buffer *buffers;

static size_t
page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Where next to ask for memory: far from where the kernel puts what is mapped
 * without an address. It fills the highest hole, which would be a page that a test
 * has unmapped. */
static void *
far_address(size_t bytes)
{
    static uintptr_t next = (uintptr_t)UINT64_C(0x200000000000);

    return (void *)__atomic_fetch_add(&next, bytes, __ATOMIC_RELAXED);
}

struct guarded
guarded_make(size_t pages, int kind)
{
    const size_t guard_bytes = page_bytes();
    const size_t bytes = pages * guard_bytes;
    unsigned char *whole =
        mmap(far_address(bytes + 2 * guard_bytes), bytes + 2 * guard_bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_ptr_not_equal(whole, MAP_FAILED);
    if (bytes > 0) {
        assert_ptr_equal(mmap(whole + guard_bytes, bytes, PROT_READ | PROT_WRITE,
                              kind | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                         whole + guard_bytes);
    }
    return (struct guarded){whole + guard_bytes, bytes};
}

void
guarded_free(struct guarded *memory)
{
    const size_t guard_bytes = page_bytes();

    assert_int_equal(
        munmap(memory->pages - guard_bytes, memory->bytes + 2 * guard_bytes), 0);
}

ULONG *
guarded_end(const struct guarded *memory, size_t counters)
{
    return (ULONG *)(void *)(memory->pages + memory->bytes) - counters;
}

/* Pages for the counters, remembered. */
static const struct guarded *
buffer_make(size_t counters)
{
    const size_t bytes = counters * sizeof(ULONG);
    struct buffer *buffer = malloc(sizeof(*buffer));

    assert_non_null(buffer);
    buffer->memory =
        guarded_make((bytes + page_bytes() - 1) / page_bytes(), MAP_PRIVATE);
    buffer->next = __atomic_load_n(&buffers, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&buffers, &buffer->next, buffer, true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return &buffer->memory;
}

ULONG *
guarded_counters(size_t counters)
{
    return guarded_end(buffer_make(counters), counters);
}

ULONG *
guarded_counters_behind(size_t counters)
{
    return (ULONG *)(void *)buffer_make(counters)->pages;
}

void
guarded_finish(void)
{
    while (buffers != NULL) {
        struct buffer *buffer = buffers;

        buffers = buffer->next;
        guarded_free(&buffer->memory);
        free(buffer);
    }
}

/* The last whole page of an area. */
static unsigned char *
last_page(void *area, size_t bytes)
{
    const uintptr_t end = (uintptr_t)area + bytes;

    return (unsigned char *)((end & ~(uintptr_t)(page_bytes() - 1)) - page_bytes());
}

ULONG *
guarded_within(void *area, size_t bytes, size_t counters)
{
    unsigned char *const guard = last_page(area, bytes);

    assert_true(bytes >= counters * sizeof(ULONG) + GUARDED_ROOM);
    assert_int_equal(mprotect(guard, page_bytes(), PROT_NONE), 0);
    return (ULONG *)(void *)guard - counters;
}

void
guarded_give_back(void *area, size_t bytes)
{
    assert_int_equal(
        mprotect(last_page(area, bytes), page_bytes(), PROT_READ | PROT_WRITE), 0);
}
