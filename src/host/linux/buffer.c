/* SPDX-License-Identifier: MIT */
/*
 * host/linux/buffer.c - counter buffers of ntprof_buffer_alloc.
 *
 * Their pages are shared memory, mapped twice: hits are counted in the second mapping,
 * the alias, and the caller reads the first. The memory is anonymous, and mremap with
 * an old size of 0 makes the alias. So there is no descriptor that the program could
 * close or inherit, RLIMIT_FSIZE does not apply, and pages exist as long as they are
 * mapped: a forked child keeps them after its parent has freed them.
 *
 * A back end that can count only in its own pages (bpf) provides a page supplier. A
 * buffer gets pages of that supplier, with the same contents, when it is locked and no
 * other lock has it. If sessions with different sources lock a buffer, the later one
 * adds differences (lock.c).
 *
 * The caller frees the memory by ntprof_buffer_free only, and neither unmaps nor moves
 * it.
 *
 * Invariants, with the mutex held:
 * - process.buffers has the buffers by address, none overlapping another, from their
 *   allocation until they are freed.
 * - A buffer exists until it is freed and has no locks; its alias and its supplier's
 *   pages stay as long as it has locks, so a lock may return pointers into them.
 *
 * fork: the mutex is held during fork, so the child's copy of this state is consistent.
 * Buffers stay shared with the child, except those in pages of a supplier, as the
 * parent's session may use the pages for something else later: the child gets copies.
 */
#include "host/linux/linuxp.h"

#include <assert.h>
#include <errno.h>
#include <ntprof/session.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COPY_BYTES = 4096 }; /* the smallest page that any machine has */

struct host_buffer {
    uintptr_t start; /* whole pages */
    size_t bytes;
    char *alias;  /* second mapping of anonymous pages; NULL: not made */
    size_t locks; /* calls of host_buffer_lock without an unlock */
    bool freed;   /* by ntprof_buffer_free; it is deleted when it has no locks */
    const struct host_page_supplier *supplier; /* NULL: anonymous pages */
    char *supplied;                            /* the supplier's mapping */
};

/* Process-wide state: a buffer belongs to no session. */
static struct {
    pthread_mutex_t mutex;
    pthread_once_t once;
    size_t page_bytes;
    void *buffers;             /* of tsearch */
    struct host_buffer *above; /* during a search: the lowest buffer above */
} process = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .once = PTHREAD_ONCE_INIT,
};

/* ---- the process ---- */

static void
lock_before_fork(void)
{
    pthread_mutex_lock(&process.mutex);
}

static void
unlock_in_parent(void)
{
    pthread_mutex_unlock(&process.mutex);
}

static void detach_and_unlock_in_child(void);

/* Set page_bytes, and register the fork handlers of the mutex. */
static void
prepare_process(void)
{
    process.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    /* A failure of pthread_atfork is ignored: then only a child that is forked while
     * another thread holds the mutex may hang. */
    (void)pthread_atfork(lock_before_fork, unlock_in_parent,
                         detach_and_unlock_in_child);
}

void
host_linux_prepare(void)
{
    pthread_once(&process.once, prepare_process);
}

size_t
host_page_bytes(void)
{
    pthread_once(&process.once, prepare_process);
    return process.page_bytes;
}

void
host_memory_enter(void)
{
    pthread_once(&process.once, prepare_process);
    pthread_mutex_lock(&process.mutex);
}

void
host_memory_leave(void)
{
    pthread_mutex_unlock(&process.mutex);
}

/* ---- the tree of buffers ---- */

/* Compare a search key with a buffer of the tree. Also set process.above to a buffer
 * above the key: a search ends with the lowest of those. */
static int
buffer_compare(const void *left, const void *right)
{
    const struct host_buffer *const key = left;
    const struct host_buffer *const buffer = right;

    if (key->start + (key->bytes - 1) < buffer->start) {
        process.above = (struct host_buffer *)(uintptr_t)right;
        return -1;
    }
    return key->start > buffer->start + (buffer->bytes - 1);
}

/* Return the buffer that contains address, else the next above, or NULL. */
static struct host_buffer *
buffer_at_or_above(uintptr_t address)
{
    const struct host_buffer key = {.start = address, .bytes = 1};
    struct host_buffer *const *found;

    process.above = NULL;
    found = tfind(&key, &process.buffers, buffer_compare);
    return found != NULL ? *found : process.above;
}

struct host_buffer *
host_buffer_find(uintptr_t start, size_t bytes)
{
    struct host_buffer *const buffer = buffer_at_or_above(start);

    return buffer != NULL && buffer->start <= start &&
                   bytes <= buffer->bytes - (start - buffer->start)
               ? buffer
               : NULL;
}

bool
host_buffer_overlap(uintptr_t start, size_t bytes, uintptr_t *first,
                    size_t *overlap_bytes)
{
    const uintptr_t last = start + (bytes - 1);
    const struct host_buffer *buffer;
    bool found = false;

    if (bytes == 0) {
        return false;
    }
    host_memory_enter();
    buffer = buffer_at_or_above(start);
    if (buffer != NULL && buffer->start <= last) {
        const uintptr_t buffer_last = buffer->start + (buffer->bytes - 1);

        *first = buffer->start > start ? buffer->start : start;
        *overlap_bytes = (buffer_last < last ? buffer_last : last) - *first + 1;
        found = true;
    }
    host_memory_leave();
    return found;
}

/* ---- pages ---- */

/* Map zeroed shared pages. A page uses memory only once it is written. */
static char *
pages_map(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (pages == MAP_FAILED) {
        return NULL;
    }
    /* Fails on kernels without huge pages, where it is not needed. */
    if (bytes > host_page_bytes()) {
        (void)madvise(pages, bytes, MADV_NOHUGEPAGE);
    }
    return pages;
}

/* Are all of so many bytes, at least one, 0? Each then equals the next. */
static bool
are_zero(const unsigned char *bytes, size_t count)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
}

/* Copy the buffer into new, zeroed pages, without touching those that stay zero:
 * reading an untouched anonymous page would allocate it. The kernel copies, because the
 * caller may have unmapped its memory, against the rule. */
static int
buffer_copy(const struct host_buffer *buffer, char *to)
{
    unsigned char piece[COPY_BYTES];

    for (size_t at = 0; at < buffer->bytes; at += COPY_BYTES) {
        int error;

        if (buffer->supplier == NULL) {
            at = host_used_next(buffer->start, buffer->bytes, at);
        }
        if (at == buffer->bytes) {
            return 0;
        }
        error = host_copy_from(piece, buffer->start + at, COPY_BYTES);
        if (error != 0) {
            return error;
        }
        if (!are_zero(piece, COPY_BYTES)) {
            memcpy(to + at, piece, COPY_BYTES);
        }
    }
    return 0;
}

/* Replace the buffer's pages by new ones with the same contents; on failure unmap the
 * new ones. No hit may be counted in the buffer meanwhile. The caller may read it: it
 * sees the old pages or the new. */
static int
buffer_replace(const struct host_buffer *buffer, char *pages)
{
    int error = buffer_copy(buffer, pages);

    if (error == 0 &&
        mremap(pages, buffer->bytes, buffer->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
               (void *)buffer->start) == MAP_FAILED) {
        error = -errno;
    }
    if (error != 0) {
        munmap(pages, buffer->bytes);
    }
    return error;
}

/* Map pages for a buffer: those that the supplier has allocated (supplied), or without
 * a supplier anonymous ones. */
static int
pages_for(const struct host_page_supplier *supplier, char *supplied, size_t bytes,
          char **pages)
{
    void *mapping;
    int error;

    if (supplier == NULL) {
        *pages = pages_map(bytes);
        return *pages != NULL ? 0 : -ENOMEM;
    }
    error = supplier->map(supplier->context, supplied, bytes, &mapping);
    *pages = mapping;
    return error;
}

/* Release the pages that hits of the buffer were counted in. */
static void
buffer_drop_pages(struct host_buffer *buffer)
{
    if (buffer->alias != NULL) {
        munmap(buffer->alias, buffer->bytes);
        buffer->alias = NULL;
    }
    if (buffer->supplier != NULL) {
        buffer->supplier->release(buffer->supplier->context, buffer->supplied,
                                  buffer->bytes);
    }
}

/* Move a buffer to the pages supplied by supplier; NULL: to anonymous ones. If that
 * fails, the old pages stay mapped. */
static int
buffer_change(struct host_buffer *buffer, const struct host_page_supplier *supplier,
              char *supplied)
{
    char *pages;
    int error = pages_for(supplier, supplied, buffer->bytes, &pages);

    if (error == 0) {
        error = buffer_replace(buffer, pages);
    }
    if (error == 0) {
        buffer_drop_pages(buffer);
        buffer->supplier = supplier;
        buffer->supplied = supplied;
    }
    return error;
}

/* Move a buffer to new pages of a supplier, or to anonymous ones (NULL). */
static int
buffer_change_supplier(struct host_buffer *buffer,
                       const struct host_page_supplier *supplier)
{
    void *supplied = NULL;
    int error = 0;

    assert(buffer->locks == 0);
    if (supplier != NULL) {
        error = supplier->allocate(supplier->context, buffer->bytes, &supplied);
    }
    if (error == 0) {
        error = buffer_change(buffer, supplier, supplied);
        if (error != 0 && supplier != NULL) {
            supplier->release(supplier->context, supplied, buffer->bytes);
        }
    }
    return error;
}

/* ---- locks ---- */

int
host_buffer_lock(struct host_buffer *buffer, const struct host_page_supplier *supplier)
{
    int error = 0;

    if (buffer->supplier != supplier) {
        error = buffer->locks > 0 ? -EBUSY : buffer_change_supplier(buffer, supplier);
    }
    if (error == 0 && supplier == NULL && buffer->alias == NULL) {
        void *const alias =
            mremap((void *)buffer->start, 0, buffer->bytes, MREMAP_MAYMOVE);

        error = alias == MAP_FAILED ? -errno : 0;
        buffer->alias = error == 0 ? alias : NULL;
    }
    buffer->locks += error == 0;
    return error;
}

char *
host_buffer_counters(const struct host_buffer *buffer, uintptr_t address)
{
    assert(buffer->locks > 0);
    return (buffer->supplier != NULL ? buffer->supplied : buffer->alias) +
           (address - buffer->start);
}

/* Free a buffer that is in the tree no more and has no locks. */
static void
buffer_delete(struct host_buffer *buffer)
{
    buffer_drop_pages(buffer);
    free(buffer);
}

void
host_buffer_unlock(struct host_buffer *buffer)
{
    assert(buffer->locks > 0);
    buffer->locks--;
    if (buffer->locks == 0 && buffer->freed) {
        buffer_delete(buffer);
    }
}

/* ---- suppliers that end ---- */

void
host_buffers_leave(const struct host_page_supplier *supplier)
{
    host_memory_enter();
    for (struct host_buffer *buffer = buffer_at_or_above(0); buffer != NULL;
         buffer = buffer_at_or_above(buffer->start + buffer->bytes)) {
        if (buffer->supplier == supplier && supplier->allocate != NULL &&
            buffer_change(buffer, /* supplier */ NULL, /* supplied */ NULL) != 0) {
            buffer->supplier = NULL; /* its pages stay mapped */
            buffer->supplied = NULL;
        }
    }
    host_memory_leave();
}

/* In the child of a fork, move buffers to anonymous pages: the supplier belongs to the
 * parent. If memory runs out, the child keeps the parent's pages. */
static void
detach_and_unlock_in_child(void)
{
    for (struct host_buffer *buffer = buffer_at_or_above(0); buffer != NULL;
         buffer = buffer_at_or_above(buffer->start + buffer->bytes)) {
        char *const pages = buffer->supplier != NULL ? pages_map(buffer->bytes) : NULL;

        if (pages != NULL) {
            (void)buffer_replace(buffer, pages);
        }
        buffer->supplier = NULL;
        buffer->supplied = NULL;
    }
    pthread_mutex_unlock(&process.mutex);
}

/* ---- ntprof_buffer_... ---- */

/* Remove a buffer from the tree; it is deleted when it has no locks. */
static void
buffer_remove(struct host_buffer *buffer)
{
    tdelete(buffer, &process.buffers, buffer_compare);
    buffer->freed = true;
    if (buffer->locks == 0) {
        buffer_delete(buffer);
    }
}

/* Remove buffers from the tree that have addresses of new memory: the caller has
 * unmapped them, against the rule. */
static void
remove_unmapped(uintptr_t start, size_t bytes)
{
    struct host_buffer *buffer = buffer_at_or_above(start);

    while (buffer != NULL && buffer->start <= start + (bytes - 1)) {
        buffer_remove(buffer);
        buffer = buffer_at_or_above(start);
    }
}

ULONG *
ntprof_buffer_alloc(size_t bytes)
{
    const size_t page_bytes = host_page_bytes();
    const size_t whole_bytes = (bytes + (page_bytes - 1)) & ~(page_bytes - 1);
    struct host_buffer *buffer;
    void *pages;
    bool added;

    if (bytes == 0 || whole_bytes < bytes) {
        return NULL;
    }
    buffer = malloc(sizeof(*buffer));
    if (buffer == NULL) {
        return NULL;
    }
    pages = pages_map(whole_bytes);
    if (pages == NULL) {
        free(buffer);
        return NULL;
    }
    *buffer = (struct host_buffer){.start = (uintptr_t)pages, .bytes = whole_bytes};
    host_memory_enter();
    remove_unmapped(buffer->start, whole_bytes);
    added = tsearch(buffer, &process.buffers, buffer_compare) != NULL;
    host_memory_leave();
    if (!added) {
        munmap(pages, whole_bytes);
        free(buffer);
        return NULL;
    }
    return pages;
}

void
ntprof_buffer_free(ULONG *buffer, size_t bytes)
{
    struct host_buffer *found;

    (void)bytes; /* the parameter is for hosts that do not store the size */
    if (buffer == NULL) {
        return;
    }
    host_memory_enter();
    found = host_buffer_find((uintptr_t)buffer, 1);
    if (found != NULL && found->start == (uintptr_t)buffer) {
        munmap(buffer, found->bytes);
        buffer_remove(found);
    }
    host_memory_leave();
}
