/* SPDX-License-Identifier: MIT */
/*
 * host/linux/pinned.c - pages of the caller that differences are added to.
 *
 * The pages are locked with mlock, as NT locks a buffer. That also identifies them:
 * memory that the caller maps at the same address later is not locked, so that it is
 * detected and gets no counts. MADV_COLD shows whether a page is locked: then it fails
 * with EINVAL and does nothing.
 *
 * Replaced memory is not detected on kernels without MADV_COLD (before 5.4), for memory
 * that cannot be locked (of devices), and if the caller locks all new mappings
 * (mlockall). Pages that the caller unlocks count as unmapped. Pages that it moves with
 * mremap stay locked at the new address.
 *
 * A later pin locks the memory that is mapped then. So each page has the number of the
 * first lock that found the present memory: for earlier locks it counts as unmapped.
 *
 * mlock does not nest, so pins are counted for each page. Invariant, with the mutex of
 * buffer.c held: the tree has exactly the pinned pages.
 */
#include "host/linux/linuxp.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef MADV_COLD
#define MADV_COLD 20
#endif

struct pinned_page {
    uintptr_t address; /* the key */
    size_t pins;
    uint64_t since;    /* number of the host_lock that first found this memory here */
    bool locked_by_us; /* the caller had not locked it before */
    bool seen_locked;  /* page_is_locked was true after our mlock: if it is not later,
                        * the caller has mapped other memory there */
};

/* Of a page whose memory is the library's now: no host_lock has found it here. */
#define NO_LOCK UINT64_MAX

static void *pinned_pages; /* of tsearch */
static size_t pinned_count;

static bool madv_cold_works; /* set by try_madv_cold, once */

static int
page_compare(const void *left, const void *right)
{
    const uintptr_t a = ((const struct pinned_page *)left)->address;
    const uintptr_t b = ((const struct pinned_page *)right)->address;

    return (a > b) - (a < b);
}

/* Return the pinned page at this address, or NULL. */
static struct pinned_page *
page_find(uintptr_t address)
{
    const struct pinned_page key = {.address = address};
    struct pinned_page **const node =
        pinned_count > 0 ? tfind(&key, &pinned_pages, page_compare) : NULL;

    return node != NULL ? *node : NULL;
}

/* Set madv_cold_works, by MADV_COLD on a new page. If the caller locks all new mappings
 * it fails: then replaced memory is not detected. */
static void
try_madv_cold(void)
{
    const size_t bytes = host_page_bytes();
    void *page =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page != MAP_FAILED) {
        madv_cold_works = madvise(page, bytes, MADV_COLD) == 0;
        munmap(page, bytes);
    }
}

/* Is the page locked? Then MADV_COLD fails with EINVAL. False if MADV_COLD does not
 * work. */
static bool
page_is_locked(uintptr_t address)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, try_madv_cold);
    return madv_cold_works &&
           madvise((void *)address, host_page_bytes(), MADV_COLD) != 0 &&
           errno == EINVAL;
}

/* Add a pin of the page for the lock with this number. */
static int
page_add(uintptr_t address, uint64_t number)
{
    struct pinned_page *page = page_find(address);

    if (page != NULL) {
        if (page->since == NO_LOCK || (page->seen_locked && !page_is_locked(address))) {
            page->since = number; /* the caller has mapped other memory here */
            page->locked_by_us = true;
        }
        page->pins++;
        return 0;
    }
    page = malloc(sizeof(*page));
    if (page == NULL) {
        return -ENOMEM;
    }
    *page = (struct pinned_page){.address = address,
                                 .pins = 1,
                                 .since = number,
                                 .locked_by_us = !page_is_locked(address)};
    if (tsearch(page, &pinned_pages, page_compare) == NULL) {
        free(page);
        return -ENOMEM;
    }
    pinned_count++;
    return 0;
}

/* Remove one pin of a page. Returns whether the page is to be unlocked. */
static bool
page_remove(uintptr_t address)
{
    struct pinned_page *page = page_find(address);
    bool locked_by_us;

    assert(page != NULL && page->pins > 0);
    if (--page->pins > 0) {
        return false;
    }
    locked_by_us = page->locked_by_us;
    tdelete(page, &pinned_pages, page_compare);
    free(page);
    pinned_count--;
    return locked_by_us;
}

/* Remove a pin of each page in [first, behind), and unlock those that the caller had
 * not locked, each contiguous run in one call. */
static void
pages_remove(uintptr_t first, uintptr_t behind)
{
    const size_t page_bytes = host_page_bytes();
    uintptr_t run_start = first;

    for (uintptr_t page = first; page != behind; page += page_bytes) {
        if (!page_remove(page)) {
            if (run_start != page) {
                host_memory_unlock(run_start, page - run_start);
            }
            run_start = page + page_bytes;
        }
    }
    if (run_start != behind) {
        host_memory_unlock(run_start, behind - run_start);
    }
}

static uintptr_t
page_of(uintptr_t address)
{
    return address & ~(uintptr_t)(host_page_bytes() - 1);
}

/* Lock the pages. The kernel has one error for unmapped memory and for the limit, so
 * the memory is looked at then; memory that another thread has unmapped and mapped
 * again in between is taken for the limit. */
static int
pages_lock(uintptr_t first, uintptr_t behind)
{
    const int error = host_memory_lock(first, behind - first);

    if (error != 0 && host_words_touch(first, behind - 1) != 0) {
        return -EFAULT;
    }
    return error;
}

int
host_pin(uintptr_t start, size_t bytes, uint64_t number)
{
    const size_t page_bytes = host_page_bytes();
    const uintptr_t first = page_of(start);
    const uintptr_t behind = page_of(start + (bytes - 1)) + page_bytes;
    uintptr_t page = first;
    int error = 0;

    for (; page != behind && error == 0; page += page_bytes) {
        error = page_add(page, number);
    }
    if (error != 0) {
        pages_remove(first, page - page_bytes); /* all but the last one */
        return error;
    }
    error = pages_lock(first, behind);
    if (error != 0) {
        pages_remove(first, behind);
        return error;
    }
    for (page = first; page != behind; page += page_bytes) {
        page_find(page)->seen_locked = page_is_locked(page);
    }
    return 0;
}

void
host_unpin(uintptr_t start, size_t bytes)
{
    pages_remove(page_of(start), page_of(start + (bytes - 1)) + host_page_bytes());
}

void
host_pins_leave(uintptr_t start, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += host_page_bytes()) {
        struct pinned_page *const page = page_find(start + at);

        if (page != NULL) {
            page->since = NO_LOCK;
            page->locked_by_us = false;
        }
    }
}

bool
host_is_pinned(uintptr_t address, uint64_t number)
{
    const struct pinned_page *const page = page_find(page_of(address));

    return page != NULL && page->since <= number &&
           (!page->seen_locked || page_is_locked(page->address));
}
