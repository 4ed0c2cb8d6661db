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
 * A back end that can count only in its own pages (bpf) provides a page source. A
 * buffer gets pages of that source, with the same contents, when it is locked and no
 * other lock has it. If sessions with different sources lock a buffer, the later one
 * adds differences (lock.c).
 *
 * The caller frees the memory by ntprof_buffer_free only, and neither unmaps nor moves
 * it.
 *
 * Invariants, with the mutex held:
 * - process.buffers has the buffers by address, none overlapping another, from their
 *   allocation until they are freed.
 * - A buffer exists until it is freed and has no locks; its alias and its source's
 *   pages stay as long as it has locks, so a lock may return pointers into them.
 *
 * fork: the mutex is held during fork, so the child's copy of this state is consistent.
 * Buffers stay shared with the child, except those in pages of a source, which the
 * parent's session will use again: the child gets a copy of them.
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

enum { COPY_BYTES = 4096 }; /* a page, or a part of one */

struct host_buffer {
    uintptr_t start; /* whole pages */
    size_t bytes;
    char *alias; /* our own mapping of anonymous pages; NULL: not made yet */
    size_t locks;
    bool freed;
    const struct host_page_source *source; /* of the pages; NULL: they are anonymous */
    char *supplied;                        /* where the source has them */
};

/* State that no session owns: pages belong to the process. */
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

static void
take_for_fork(void)
{
    pthread_mutex_lock(&process.mutex);
}

static void
leave_after_fork(void)
{
    pthread_mutex_unlock(&process.mutex);
}

static void leave_in_child(void);

static void
prepare(void)
{
    process.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    /* Without memory for the handlers a fork at the wrong moment may hang the child. */
    (void)pthread_atfork(take_for_fork, leave_after_fork, leave_in_child);
}

void
host_linux_prepare(void)
{
    pthread_once(&process.once, prepare);
}

size_t
host_page_bytes(void)
{
    pthread_once(&process.once, prepare);
    return process.page_bytes;
}

void
host_memory_enter(void)
{
    pthread_once(&process.once, prepare);
    pthread_mutex_lock(&process.mutex);
}

void
host_memory_leave(void)
{
    pthread_mutex_unlock(&process.mutex);
}

/* ---- by address ---- */

/* The key is not of the tree. The last buffer that a search leaves to its right is the
 * next. */
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

/* The buffer that covers address, else the next above, else NULL. */
static struct host_buffer *
buffer_at(uintptr_t address)
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
    struct host_buffer *const buffer = buffer_at(start);

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
    buffer = buffer_at(start);
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

/* Zeroed shared pages. Those never touched take no memory, nor do their neighbours. */
static char *
pages_map(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (pages == MAP_FAILED) {
        return NULL;
    }
    /* Refused by kernels without huge pages. One page is never huge. */
    if (bytes > host_page_bytes()) {
        (void)madvise(pages, bytes, MADV_NOHUGEPAGE);
    }
    return pages;
}

static bool
are_zero(const unsigned char *bytes, size_t count)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
}

/*
 * Copies the buffer into new, zeroed pages; those that would stay zero are not touched.
 * Anonymous pages that nobody has used yet would be made by reading them. The kernel
 * copies, since the caller may have unmapped its memory, which it should not.
 */
static int
buffer_copy(const struct host_buffer *buffer, char *to)
{
    unsigned char piece[COPY_BYTES];

    for (size_t at = 0; at < buffer->bytes; at += COPY_BYTES) {
        int error;

        if (buffer->source == NULL) {
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

/* Puts new pages with the same contents in the place of the buffer's. On failure they
 * are unmapped. Nobody counts in the buffer; a reader sees one or the other. */
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

/* Another mapping of the pages that a buffer is to have. */
static int
pages_for(const struct host_page_source *source, char *supplied, size_t bytes,
          char **pages)
{
    void *mapping;
    int error;

    if (source == NULL) {
        *pages = pages_map(bytes);
        return *pages != NULL ? 0 : -ENOMEM;
    }
    error = source->map(source->context, supplied, bytes, &mapping);
    *pages = mapping;
    return error;
}

/* ---- sources ---- */

/* Gives back what the buffer counted in. */
static void
buffer_drop_pages(struct host_buffer *buffer)
{
    if (buffer->alias != NULL) {
        munmap(buffer->alias, buffer->bytes);
        buffer->alias = NULL;
    }
    if (buffer->source != NULL) {
        buffer->source->give(buffer->source->context, buffer->supplied, buffer->bytes);
    }
}

static int
buffer_change(struct host_buffer *buffer, const struct host_page_source *source,
              char *supplied)
{
    char *pages;
    int error = pages_for(source, supplied, buffer->bytes, &pages);

    if (error == 0) {
        error = buffer_replace(buffer, pages);
    }
    if (error == 0) {
        buffer_drop_pages(buffer);
        buffer->source = source;
        buffer->supplied = supplied;
    }
    return error;
}

static int
buffer_change_source(struct host_buffer *buffer, const struct host_page_source *source)
{
    void *supplied = NULL;
    int error = 0;

    assert(buffer->locks == 0);
    if (source != NULL) {
        error = source->take(source->context, buffer->bytes, &supplied);
    }
    if (error == 0) {
        error = buffer_change(buffer, source, supplied);
        if (error != 0 && source != NULL) {
            source->give(source->context, supplied, buffer->bytes);
        }
    }
    return error;
}

int
host_buffer_lock(struct host_buffer *buffer, const struct host_page_source *source)
{
    int error = 0;

    if (buffer->source != source) {
        error = buffer->locks > 0 ? -EBUSY : buffer_change_source(buffer, source);
    }
    if (error == 0 && source == NULL && buffer->alias == NULL) {
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
    return (buffer->source != NULL ? buffer->supplied : buffer->alias) +
           (address - buffer->start);
}

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

/* The pages stay mapped where no others can be had, but their source is no more. */
static void
buffer_leave_source(struct host_buffer *buffer)
{
    if (buffer_change(buffer, NULL, NULL) != 0) {
        buffer->source = NULL;
        buffer->supplied = NULL;
    }
}

void
host_buffers_leave(const struct host_page_source *source)
{
    host_memory_enter();
    for (struct host_buffer *buffer = buffer_at(0); buffer != NULL;
         buffer = buffer_at(buffer->start + buffer->bytes)) {
        if (buffer->source == source && source->take != NULL) {
            buffer_leave_source(buffer);
        }
    }
    host_memory_leave();
}

/* What a source would be given back is the parent's. Without memory the child goes on
 * with the parent's pages. */
static void
leave_in_child(void)
{
    for (struct host_buffer *buffer = buffer_at(0); buffer != NULL;
         buffer = buffer_at(buffer->start + buffer->bytes)) {
        char *const pages = buffer->source != NULL ? pages_map(buffer->bytes) : NULL;

        if (pages != NULL) {
            (void)buffer_replace(buffer, pages);
        }
        buffer->source = NULL;
        buffer->supplied = NULL;
    }
    pthread_mutex_unlock(&process.mutex);
}

/* ---- for the caller ---- */

/* The address is not the buffer's any more. */
static void
buffer_remove(struct host_buffer *buffer)
{
    tdelete(buffer, &process.buffers, buffer_compare);
    buffer->freed = true;
    if (buffer->locks == 0) {
        buffer_delete(buffer);
    }
}

/* The kernel gave these addresses to new memory, so a buffer that was there is gone:
 * the caller unmapped it, which it should not. */
static void
remove_unmapped(uintptr_t start, size_t bytes)
{
    struct host_buffer *buffer = buffer_at(start);

    while (buffer != NULL && buffer->start <= start + (bytes - 1)) {
        buffer_remove(buffer);
        buffer = buffer_at(start);
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

    (void)bytes; /* the buffer knows; the parameter is for hosts that do not */
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
