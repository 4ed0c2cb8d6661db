/* SPDX-License-Identifier: MIT */
/*
 * host/linux/lock.c - locks and maps counter buffers: the MDL functions of the host
 * table.
 *
 * There are two kinds of buffer. One within a buffer of ntprof_buffer_alloc is live:
 * hits are counted in its pages (buffer.c). Any other memory is updated by differences:
 * hits are counted in the library's memory, or in that of the session's page supplier
 * (linux.h), starting from 0, and each flush moves the counts to the caller's memory by
 * atomic additions. No page of the caller is moved or replaced.
 *
 * For differences, the caller's pages (pinned.c) and the library's counters (locked.c)
 * are resident from lock to unlock, and charged to RLIMIT_MEMLOCK. Live buffers are
 * not: they are sparse.
 *
 * Invariant: with the lock mapped, the counter of caller's address A is at
 * MappedSystemVa + (A - StartVa), and each hit is in exactly one place: there, or in
 * the caller's memory.
 *
 * A caller must keep its buffer until the profile is stopped. If the memory is
 * unmapped, replaced or read-only, counts stay in the library's memory, and those left
 * at unmap are reported in MDL.Unwritten. Memory that the caller maps there during a
 * flush may get them.
 */
#include "host/linux/linuxp.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum { COUNTER_BYTES = 4 };

struct host_lock {
    uint64_t number;            /* ascending, in the order of locking */
    struct host_buffer *buffer; /* a live buffer; NULL: differences */
    uintptr_t start;
    size_t bytes;                              /* pinned: 0 if it is live or empty */
    const struct host_page_supplier *supplier; /* of supplied */
    void *supplied;                            /* counters of the supplier, or NULL */
    struct host_counters shadow;               /* counters without a supplier */
    void *counters;                            /* what MapPages returns */
    ULONG none; /* its address stands for 0 counters, since NULL means unmapped */
};

/* Have the hits counted in the pages of a buffer of ntprof_buffer_alloc. */
static int
lock_live(struct host_lock *lock, struct host_buffer *buffer, uintptr_t start)
{
    const int error = host_buffer_lock(buffer, lock->supplier);

    if (error == 0) {
        lock->buffer = buffer;
        lock->counters = host_buffer_counters(buffer, start);
    }
    return error;
}

/* Allocate counters for differences. Everything that can fail is done here, so that its
 * status is that of locking. */
static int
lock_make_counters(struct host_lock *lock, size_t bytes)
{
    int error;

    if (lock->supplier != NULL) {
        error =
            lock->supplier->allocate(lock->supplier->context, bytes, &lock->supplied);
        lock->counters = lock->supplied;
    } else {
        error = host_counters_make(&lock->shadow, bytes);
        lock->counters = lock->shadow.memory;
    }
    return error;
}

/* Pin the caller's memory, which must be mapped and writable, and allocate counters. */
static int
lock_differences(struct host_lock *lock, uintptr_t start, size_t bytes)
{
    int error = host_words_touch(start, start + (bytes - 1));

    if (error == 0) {
        error = host_pin(start, bytes, lock->number);
    }
    if (error != 0) {
        return error;
    }
    lock->start = start;
    lock->bytes = bytes;
    return lock_make_counters(lock, bytes);
}

/* Fill in an empty lock for a buffer of the caller. One of 0 bytes may have any
 * address: no memory is looked at. */
static int
lock_fill(struct host_lock *lock, uintptr_t start, size_t bytes)
{
    struct host_buffer *buffer;

    if (bytes == 0) {
        lock->counters = &lock->none;
        return 0;
    }
    buffer = host_buffer_find(start, bytes);
    if (buffer != NULL) {
        const int error = lock_live(lock, buffer, start);

        /* Another session has locked it, or it cannot be mapped again: use
         * differences. */
        if (error == 0 || error == -EAGAIN) {
            return error;
        }
    }
    return lock_differences(lock, start, bytes);
}

/* Undo lock_fill, also one that failed, and free the lock. */
static void
lock_delete(struct host_lock *lock)
{
    if (lock->buffer != NULL) {
        host_buffer_unlock(lock->buffer);
    }
    if (lock->supplied != NULL) {
        lock->supplier->release(lock->supplier->context, lock->supplied, lock->bytes);
    }
    host_counters_finish(&lock->shadow);
    if (lock->bytes != 0) {
        host_unpin(lock->start, lock->bytes);
    }
    free(lock);
}

/* Does the buffer fit the address size of this process? */
static bool
is_lockable(const MDL *Mdl)
{
    return Mdl->StartVa <= UINTPTR_MAX &&
           Mdl->ByteCount <= UINTPTR_MAX - (uintptr_t)Mdl->StartVa;
}

NTSTATUS
host_lock_pages(void *Context, MDL *Mdl)
{
    static uint64_t locks;
    struct host_linux *const host = Context;
    struct host_lock *lock;
    int error;

    if (Mdl->ByteCount > 0 && Mdl->StartVa % COUNTER_BYTES != 0) {
        return STATUS_DATATYPE_MISALIGNMENT;
    }
    if (Mdl->ByteCount > 0 && !is_lockable(Mdl)) {
        return STATUS_ACCESS_VIOLATION;
    }
    lock = malloc(sizeof(*lock));
    if (lock == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    *lock = (struct host_lock){
        .supplier = host->pages.allocate != NULL ? &host->pages : NULL,
    };

    host_memory_enter();
    lock->number = ++locks;
    error = lock_fill(lock, (uintptr_t)Mdl->StartVa, Mdl->ByteCount);
    if (error != 0) {
        lock_delete(lock);
    }
    host_memory_leave();
    if (error != 0) {
        return host_refuse(Context, HOST_REFUSED_LOCK, Mdl->StartVa, error,
                           host_status(error));
    }
    Mdl->HostContext = lock;
    return STATUS_SUCCESS;
}

NTSTATUS
host_map_pages(void *Context, MDL *Mdl)
{
    const struct host_lock *lock = Mdl->HostContext;

    (void)Context;
    assert(lock->counters != NULL);
    Mdl->MappedSystemVa = lock->counters;
    Mdl->Live = lock->bytes == 0;
    return STATUS_SUCCESS;
}

/* Move the counts since the last flush to the caller's memory at start; counters: how
 * many, all in one page. Each hit is moved exactly once, as hits that are counted
 * meanwhile come before or after the exchange. After a fault (the caller has protected
 * or unmapped its memory) the rest stays for the next flush. */
static void
page_flush(uint64_t number, uintptr_t start, ULONG *shadow, size_t counters)
{
    bool pinned = false;

    for (size_t i = 0; i < counters; i++) {
        ULONG rest;

        if (__atomic_load_n(&shadow[i], __ATOMIC_RELAXED) == 0) {
            continue;
        }
        if (!pinned && !host_is_pinned(start, number)) {
            return;
        }
        pinned = true;
        rest = host_word_add(start + i * COUNTER_BYTES,
                             __atomic_exchange_n(&shadow[i], 0, __ATOMIC_RELAXED));
        if (rest != 0) {
            (void)__atomic_fetch_add(&shadow[i], rest, __ATOMIC_RELAXED);
            return; /* the rest of the page would fault too */
        }
    }
}

/* Move counts from the shadow to the caller's pages. A live buffer has no shadow. */
void
host_flush_pages(void *Context, MDL *Mdl)
{
    const struct host_lock *lock = Mdl->HostContext;
    const uintptr_t page_mask = host_page_bytes() - 1;
    const size_t counters = lock->bytes / COUNTER_BYTES;
    ULONG *const shadow = Mdl->MappedSystemVa;

    (void)Context;
    if (shadow == NULL || counters == 0) {
        return;
    }
    host_memory_enter();
    for (size_t i = 0; i < counters;) {
        const uintptr_t start = lock->start + i * COUNTER_BYTES;
        const size_t on_page = ((start | page_mask) + 1 - start) / COUNTER_BYTES;
        const size_t count = on_page < counters - i ? on_page : counters - i;

        page_flush(lock->number, start, shadow + i, count);
        i += count;
    }
    host_memory_leave();
}

void
host_unmap_pages(void *Context, MDL *Mdl)
{
    const struct host_lock *const lock = Mdl->HostContext;
    const ULONG *const shadow = Mdl->MappedSystemVa;

    Mdl->Unwritten = 0;
    host_flush_pages(Context, Mdl);
    for (size_t i = 0; shadow != NULL && i < lock->bytes / COUNTER_BYTES; i++) {
        Mdl->Unwritten += shadow[i];
    }
    Mdl->MappedSystemVa = NULL;
}

void
host_unlock_pages(void *Context, MDL *Mdl)
{
    if (Mdl->MappedSystemVa != NULL) {
        host_unmap_pages(Context, Mdl);
    }
    host_memory_enter();
    lock_delete(Mdl->HostContext);
    host_memory_leave();
    Mdl->HostContext = NULL;
}
