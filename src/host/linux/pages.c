/* SPDX-License-Identifier: MIT */
/*
 * host/linux/pages.c - locks and maps counter buffers: the MDL functions of the host table.
 *
 * A lock is a row of pieces without gaps, from StartVa on. A piece either refers to a range
 * of shared pages (arena.c), where counting is seen by the caller at once; or it has no
 * range, and its counters begin at 0 in memory of ours and are moved to the caller's by
 * atomic additions at each flush (differences). Differences serve what cannot be shared
 * page by page: the partial pages at both ends of a buffer, stacks, files and shared memory
 * of the caller's own.
 *
 * Invariant: with the lock mapped, the counter of caller's address A is at MappedSystemVa +
 * (A - StartVa), and each hit is in exactly one place: there, or in the caller's memory.
 *
 * The caller keeps its buffer until it has stopped. If it does not, counts of a range go on in
 * pages that only we have, and differences are dropped where nothing is mapped; that memory
 * at the same address is another by now cannot be seen from them.
 *
 * Whole pages of a buffer lose what madvise, mlock and NUMA calls said about them; private
 * pages of a file come back as anonymous ones.
 *
 * A buffer of ntprof_buffer_alloc is one piece, and its mapping the range's: locking it is a
 * search and an allocation. Everything else reads /proc/self/maps, once a lock.
 */
#include "host/linux/linuxp.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { COUNTER_BYTES = 4 };

struct host_piece {
    uintptr_t start;
    size_t bytes;
    struct host_range *range; /* NULL: differences */
};

struct host_lock {
    struct host_piece *pieces; /* first, unless there are more */
    struct host_piece first;
    size_t count;
    size_t shared; /* pieces with a range */
    void *shadow;  /* calloc'd counters, if all pieces are differences */
    void *mapping; /* mmap'd pages, if pieces are of several kinds */
    size_t mapping_bytes;
};

static uintptr_t
page_floor(uintptr_t address)
{
    return address & ~(uintptr_t)(host_page_bytes() - 1);
}

/* Room for one more than the first. */
static int
lock_grow(struct host_lock *lock)
{
    void *old = lock->count == 1 ? NULL : lock->pieces;
    struct host_piece *pieces = realloc(old, (lock->count + 1) * sizeof(*pieces));

    if (pieces == NULL) {
        return -ENOMEM;
    }
    if (old == NULL) {
        pieces[0] = lock->first;
    }
    lock->pieces = pieces;
    return 0;
}

/* Adds a piece; one of differences grows the one before it. Takes over a lock of range. */
static int
lock_append(struct host_lock *lock, uintptr_t start, size_t bytes,
            struct host_range *range)
{
    struct host_piece *last = lock->count > 0 ? &lock->pieces[lock->count - 1] : NULL;

    if (last != NULL && last->range == NULL && range == NULL) {
        last->bytes += bytes;
        return 0;
    }
    if (lock->count > 0 && lock_grow(lock) != 0) {
        return -ENOMEM;
    }
    lock->pieces[lock->count++] = (struct host_piece){start, bytes, range};
    lock->shared += range != NULL;
    return 0;
}

static int
lock_append_range(struct host_lock *lock, uintptr_t start, size_t bytes,
                  struct host_range *range)
{
    const int error = lock_append(lock, start, bytes, range);

    if (error != 0) {
        host_range_release(range);
    }
    return error;
}

/* Differences need memory that is there now; later, a fault only loses them. */
static int
lock_append_differences(struct host_lock *lock, uintptr_t start, size_t bytes)
{
    const int error = host_words_touch(start, start + (bytes - 1));

    return error != 0 ? error : lock_append(lock, start, bytes, NULL);
}

/* Private memory that may be read and written, and is mapped in pages of the usual kind. */
static bool
mapping_can_be_spliced(const struct host_mapping *mapping)
{
    return !mapping->shared && !mapping->stack &&
           mapping->protection == (PROT_READ | PROT_WRITE);
}

/* The first bytes of [start, start + bytes) that are all of one kind: *splice. */
static size_t
maps_run(const struct host_maps *maps, uintptr_t start, size_t bytes, bool *splice)
{
    const uintptr_t end = start + bytes;
    uintptr_t address = start;

    while (address < end) {
        const struct host_mapping *mapping = host_maps_find(maps, address);
        const bool covered = mapping != NULL && mapping->start <= address;
        const bool wanted = covered && mapping_can_be_spliced(mapping);
        uintptr_t next = end;

        if (mapping != NULL &&
            (covered ? mapping->last < end - 1 : mapping->start < end)) {
            next = covered ? mapping->last + 1 : mapping->start;
        }
        if (address == start) {
            *splice = wanted;
        } else if (wanted != *splice) {
            break;
        }
        address = next;
    }
    return address - start;
}

/* Whole pages, none of them shared yet. */
static int
lock_append_pages(struct host_lock *lock, const struct host_maps *maps, uintptr_t start,
                  size_t bytes)
{
    while (bytes > 0) {
        bool splice = false;
        const size_t run_bytes = maps_run(maps, start, bytes, &splice);
        struct host_range *range;
        int error = splice ? host_range_splice(start, run_bytes, &range) : -EOPNOTSUPP;

        if (error == 0) {
            error = lock_append_range(lock, start, run_bytes, range);
        } else if (error != -EFAULT && error != -EAGAIN && error != -ENOMEM) {
            error = lock_append_differences(lock, start, run_bytes);
        }
        if (error != 0) {
            return error;
        }
        start += run_bytes;
        bytes -= run_bytes;
    }
    return 0;
}

/* Memory outside all ranges: whole pages, and what is before and behind them. */
static int
lock_append_fresh(struct host_lock *lock, const struct host_maps *maps, uintptr_t start,
                  size_t bytes)
{
    const uintptr_t end = start + bytes;
    const uintptr_t first = page_floor(start + (host_page_bytes() - 1));
    const uintptr_t behind = page_floor(end);
    int error = 0;

    if (first < start || first >= behind) {
        return lock_append_differences(lock, start, bytes);
    }
    if (first > start) {
        error = lock_append_differences(lock, start, first - start);
    }
    if (error == 0) {
        error = lock_append_pages(lock, maps, first, behind - first);
    }
    if (error == 0 && end > behind) {
        error = lock_append_differences(lock, behind, end - behind);
    }
    return error;
}

/* Memory of a range; differences if there can be no alias. */
static int
lock_append_shared(struct host_lock *lock, struct host_range *range, uintptr_t start,
                   size_t bytes)
{
    const int error = host_range_alias(range);

    if (error == -ENOMEM || error == -EAGAIN) {
        return error;
    }
    if (error != 0) {
        return lock_append_differences(lock, start, bytes);
    }
    range->locks++;
    return lock_append_range(lock, start, bytes, range);
}

/* Ranges and what is between them, ascending. */
static int
lock_append_all(struct host_lock *lock, const struct host_maps *maps, uintptr_t start,
                size_t bytes)
{
    while (bytes > 0) {
        struct host_range *range = host_range_find(start);
        size_t piece_bytes = bytes;
        int error;

        if (range == NULL || range->start > start) {
            if (range != NULL && range->start - start < bytes) {
                piece_bytes = range->start - start;
            }
            error = lock_append_fresh(lock, maps, start, piece_bytes);
        } else {
            const size_t rest_bytes = range->bytes - (start - range->start);

            piece_bytes = rest_bytes < bytes ? rest_bytes : bytes;
            /* Spliced memory may have been unmapped, and other memory be there now. */
            if (!range->buffer &&
                !host_range_is_intact(range, maps, start, piece_bytes)) {
                host_range_unlist(range);
                continue;
            }
            error = lock_append_shared(lock, range, start, piece_bytes);
        }
        if (error != 0) {
            return error;
        }
        start += piece_bytes;
        bytes -= piece_bytes;
    }
    return 0;
}

static bool
is_within_buffer(uintptr_t start, size_t bytes)
{
    const struct host_range *range = host_range_find(start);

    return range != NULL && range->buffer && range->start <= start &&
           bytes <= range->bytes - (start - range->start);
}

/*
 * Is all of it memory that can be written? Asked before anything is mapped: the kernel may
 * put our own mappings into a hole of the buffer.
 */
static int
lock_check(const struct host_maps *maps, uintptr_t start, size_t bytes)
{
    const uintptr_t last = start + (bytes - 1);

    if (bytes == 0 || maps->count == 0) {
        return bytes == 0 ? 0 : host_words_touch(start, last);
    }
    for (;;) {
        const struct host_mapping *mapping = host_maps_find(maps, start);

        if (mapping == NULL || mapping->start > start ||
            (mapping->protection & PROT_WRITE) == 0) {
            return -EFAULT;
        }
        if (mapping->last >= last) {
            return 0;
        }
        start = mapping->last + 1;
    }
}

static int
lock_fill(struct host_lock *lock, uintptr_t start, size_t bytes)
{
    struct host_maps maps = {0};
    int error = 0;

    if (!is_within_buffer(start, bytes)) {
        /* Without /proc nothing is known of the memory, and differences serve it all. */
        if (host_maps_read(&maps) == -ENOMEM) {
            return -ENOMEM;
        }
        error = lock_check(&maps, start, bytes);
    }
    if (error == 0) {
        error = lock_append_all(lock, &maps, start, bytes);
    }
    host_maps_finish(&maps);
    return error;
}

static void
lock_delete(struct host_lock *lock)
{
    for (size_t i = 0; i < lock->count; i++) {
        if (lock->pieces[i].range != NULL) {
            host_range_release(lock->pieces[i].range);
        }
    }
    if (lock->pieces != &lock->first) {
        free(lock->pieces);
    }
    free(lock);
}

static bool
is_lockable(const MDL *Mdl)
{
    return Mdl->StartVa <= UINTPTR_MAX &&
           Mdl->ByteCount <= UINTPTR_MAX - (uintptr_t)Mdl->StartVa;
}

NTSTATUS
host_lock_pages(void *Context, MDL *Mdl)
{
    struct host_lock *lock;
    int error;

    (void)Context;
    if (Mdl->StartVa % COUNTER_BYTES != 0) {
        return STATUS_DATATYPE_MISALIGNMENT;
    }
    if (!is_lockable(Mdl)) {
        return STATUS_ACCESS_VIOLATION;
    }
    lock = malloc(sizeof(*lock));
    if (lock == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    *lock = (struct host_lock){.pieces = &lock->first};

    host_arena_lock();
    error = lock_fill(lock, (uintptr_t)Mdl->StartVa, Mdl->ByteCount);
    if (error != 0) {
        lock_delete(lock);
    }
    host_arena_unlock();
    if (error != 0) {
        return host_status(error);
    }
    Mdl->HostContext = lock;
    return STATUS_SUCCESS;
}

/* Where the range's own alias has the piece. */
static char *
piece_alias(const struct host_piece *piece)
{
    return piece->range->alias + (piece->start - piece->range->start);
}

/* One mapping for pieces of several kinds: private pages, with shared ones put over them. */
static void *
lock_map_mixed(struct host_lock *lock, uintptr_t start, size_t bytes)
{
    const uintptr_t first = page_floor(start);
    const size_t page_bytes = host_page_bytes();
    const size_t mapping_bytes =
        (start - first + bytes + (page_bytes - 1)) & ~(page_bytes - 1);
    char *mapping = mmap(NULL, mapping_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mapping == MAP_FAILED) {
        return NULL;
    }
    for (size_t i = 0; i < lock->count; i++) {
        const struct host_piece *piece = &lock->pieces[i];
        const uintptr_t page = page_floor(piece->start);
        const size_t piece_bytes =
            (piece->start - page + piece->bytes + (page_bytes - 1)) & ~(page_bytes - 1);

        if (piece->range != NULL &&
            mremap(piece_alias(piece) - (piece->start - page), 0, piece_bytes,
                   MREMAP_MAYMOVE | MREMAP_FIXED,
                   mapping + (page - first)) == MAP_FAILED) {
            munmap(mapping, mapping_bytes);
            return NULL;
        }
    }
    lock->mapping = mapping;
    lock->mapping_bytes = mapping_bytes;
    return mapping + (start - first);
}

NTSTATUS
host_map_pages(void *Context, MDL *Mdl)
{
    struct host_lock *lock = Mdl->HostContext;
    void *counters;

    (void)Context;
    if (lock->count == 1 && lock->shared == 1) {
        counters = piece_alias(&lock->pieces[0]);
    } else if (lock->shared == 0) {
        /* Also for no counters at all: a mapped address is not NULL. */
        lock->shadow = calloc(1, (size_t)Mdl->ByteCount + COUNTER_BYTES);
        counters = lock->shadow;
    } else {
        host_arena_lock();
        counters = lock_map_mixed(lock, (uintptr_t)Mdl->StartVa, Mdl->ByteCount);
        host_arena_unlock();
    }
    if (counters == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    Mdl->MappedSystemVa = counters;
    return STATUS_SUCCESS;
}

/*
 * Moves what was counted since the last time. The exchange takes each hit exactly once
 * while others count; a fault means that the caller took its memory away.
 */
static void
piece_flush(const struct host_piece *piece, ULONG *shadow)
{
    const size_t counters = piece->bytes / COUNTER_BYTES;

    for (size_t i = 0; i < counters; i++) {
        if (__atomic_load_n(&shadow[i], __ATOMIC_RELAXED) != 0) {
            const ULONG amount = __atomic_exchange_n(&shadow[i], 0, __ATOMIC_RELAXED);

            (void)host_word_add(piece->start + i * COUNTER_BYTES, amount);
        }
    }
}

void
host_flush_pages(void *Context, MDL *Mdl)
{
    const struct host_lock *lock = Mdl->HostContext;

    (void)Context;
    if (Mdl->MappedSystemVa == NULL || lock->shared == lock->count) {
        return;
    }
    host_arena_lock();
    for (size_t i = 0; i < lock->count; i++) {
        const struct host_piece *piece = &lock->pieces[i];

        if (piece->range == NULL) {
            char *shadow =
                (char *)Mdl->MappedSystemVa + (piece->start - (uintptr_t)Mdl->StartVa);

            piece_flush(piece, (ULONG *)(void *)shadow);
        }
    }
    host_arena_unlock();
}

void
host_unmap_pages(void *Context, MDL *Mdl)
{
    struct host_lock *lock = Mdl->HostContext;

    host_flush_pages(Context, Mdl);
    Mdl->MappedSystemVa = NULL;
    if (lock->mapping != NULL) {
        munmap(lock->mapping, lock->mapping_bytes);
        lock->mapping = NULL;
    }
    free(lock->shadow);
    lock->shadow = NULL;
}

void
host_unlock_pages(void *Context, MDL *Mdl)
{
    struct host_lock *lock = Mdl->HostContext;

    if (Mdl->MappedSystemVa != NULL) {
        host_unmap_pages(Context, Mdl);
    }
    host_arena_lock();
    lock_delete(lock);
    host_arena_unlock();
    Mdl->HostContext = NULL;
}
