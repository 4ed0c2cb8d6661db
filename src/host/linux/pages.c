/* SPDX-License-Identifier: MIT */
/*
 * host/linux/pages.c - locks and maps counter buffers: the MDL functions of the host
 * table.
 *
 * A lock is a row of pieces without gaps, from StartVa on. A piece either refers to a
 * range of shared pages (arena.c), where counting is seen by the caller at once; or it
 * has no range, and its counters begin at 0 in memory of ours and are moved to the
 * caller's by atomic additions at each flush (differences). Differences serve what
 * cannot be shared page by page: the partial pages at both ends of a buffer, stacks,
 * files and shared memory of the caller's own.
 *
 * All of it is resident from lock to unlock, and charged against RLIMIT_MEMLOCK: the
 * pages of ranges once, however many locks there are (but not those of
 * ntprof_buffer_alloc); of differences the caller's pages (held.c) and our counters
 * (locked.c).
 *
 * A session with a page source (linux.h) has all counters of its locks in that source's
 * pages: a range made of them, or a supply of its own, whose pages become ranges where
 * they can be spliced. What is in pages of anybody else's is moved there by additions
 * as well, with a hold on the range in place of one on the caller's memory.
 *
 * Invariant: with the lock mapped, the counter of caller's address A is at
 * MappedSystemVa + (A - StartVa), and each hit is in exactly one place: there, or in
 * the caller's memory.
 *
 * A caller should keep its buffer until it has stopped. If it does not, counts of a
 * range go on in pages that only we have. Differences stay with us while the memory is
 * gone, is another by now or cannot be written, and those that are left at unmap are
 * told: MDL.Unwritten. One that puts other memory there just while a flush looks races
 * with itself.
 *
 * Whole pages of a buffer lose what madvise, mlock and NUMA calls said about them;
 * private pages of a file come back as anonymous ones.
 *
 * A buffer of ntprof_buffer_alloc is one piece, and its mapping the range's: locking it
 * is a search and an allocation. Everything else asks which mappings it lies in
 * (maps.c).
 *
 * A process may have only so many mappings (vm.max_map_count), of which each spliced
 * range takes some. Where there are no more, or no memory, differences serve as well.
 */
#include "host/linux/linuxp.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { COUNTER_BYTES = 4 };

struct host_piece {
    uintptr_t start;
    size_t bytes;
    struct host_range *range; /* NULL: differences are added at the caller's address */
    bool live;                /* counted in the range's pages; else moved there */
};

struct host_lock {
    uint64_t number;           /* ascending, in the order of locking */
    struct host_piece *pieces; /* first, unless there are more */
    struct host_piece first;
    size_t count;
    size_t shared;                         /* pieces that are live */
    const struct host_page_source *source; /* where counters must be; NULL: anywhere */
    struct host_supply *supply;            /* of it; NULL: a range's serves */
    uintptr_t supply_start;                /* the address that it begins with */
    struct host_counters shadow;           /* if all pieces are differences */
    void *mapping; /* mmap'd pages, if pieces are of several kinds */
    size_t mapping_bytes;
    void *counters; /* where MapPages finds them */
    ULONG none;     /* an address for no counters: a mapped one is not NULL */
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

/* Adds a piece; one of differences grows the one before it. Takes over a lock of range.
 */
static int
lock_append(struct host_lock *lock, uintptr_t start, size_t bytes,
            struct host_range *range, bool live)
{
    struct host_piece *last = lock->count > 0 ? &lock->pieces[lock->count - 1] : NULL;

    if (last != NULL && last->range == NULL && range == NULL) {
        last->bytes += bytes;
        return 0;
    }
    if (lock->count > 0 && lock_grow(lock) != 0) {
        return -ENOMEM;
    }
    lock->pieces[lock->count++] = (struct host_piece){start, bytes, range, live};
    lock->shared += live;
    return 0;
}

static int
lock_append_range(struct host_lock *lock, uintptr_t start, size_t bytes,
                  struct host_range *range, bool live)
{
    const int error = lock_append(lock, start, bytes, range, live);

    if (error != 0) {
        host_range_release(range);
    }
    return error;
}

/* Differences need memory that is there now; later, a fault only loses them. */
static int
lock_append_differences(struct host_lock *lock, uintptr_t start, size_t bytes)
{
    int error = host_words_touch(start, start + (bytes - 1));

    if (error == 0) {
        error = host_hold(start, bytes, lock->number);
    }
    if (error != 0) {
        return error;
    }
    error = lock_append(lock, start, bytes, NULL, false);
    if (error != 0) {
        host_unhold(start, bytes);
    }
    return error;
}

/* Private memory that may be read and written, and is mapped in pages of the usual
 * kind. */
static bool
mapping_can_be_spliced(const struct host_mapping *mapping)
{
    return !mapping->shared && !mapping->stack &&
           mapping->protection == (PROT_READ | PROT_WRITE);
}

/* The first bytes of [start, start + bytes) that are all of one kind: *splice. */
static size_t
maps_run(struct host_maps *maps, uintptr_t start, size_t bytes, bool *splice)
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

/* Where the lock's supply has the counters of an address; NULL without one. */
static char *
lock_supplied(const struct host_lock *lock, uintptr_t address)
{
    return lock->supply != NULL ? lock->supply->memory + (address - lock->supply_start)
                                : NULL;
}

/*
 * Whole pages, none of them shared yet. Those that another lock adds differences to
 * stay what they are: put in their place, others would look like the caller's doing.
 */
static int
lock_append_pages(struct host_lock *lock, struct host_maps *maps, uintptr_t start,
                  size_t bytes)
{
    while (bytes > 0) {
        bool splice = false;
        bool held;
        const size_t kind_bytes = maps_run(maps, start, bytes, &splice);
        const size_t run_bytes = host_held_run(start, kind_bytes, &held);
        struct host_range *range;
        int error = -EOPNOTSUPP;

        if (splice && !held) {
            error = host_range_splice(start, run_bytes, lock->supply,
                                      lock_supplied(lock, start), &range);
        }
        if (error == 0) {
            error = lock_append_range(lock, start, run_bytes, range, true);
        } else if (error != -EFAULT && error != -EAGAIN) {
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
lock_append_fresh(struct host_lock *lock, struct host_maps *maps, uintptr_t start,
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
    /* With a supply of its own the lock counts there, whoever's the range is. */
    return lock_append_range(lock, start, bytes, range,
                             lock->supply == NULL &&
                                 host_range_serves(range, lock->source));
}

/* Ranges and what is between them, ascending. */
static int
lock_append_all(struct host_lock *lock, struct host_maps *maps, uintptr_t start,
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
 * Is all of it memory that can be written? Asked before anything is mapped: the kernel
 * may put our own mappings into a hole of the buffer.
 */
static int
lock_check(struct host_maps *maps, uintptr_t start, size_t bytes)
{
    const uintptr_t last = start + (bytes - 1);

    if (bytes == 0 || !host_maps_are_known(maps)) {
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

/* The range that has the pages for all of the lock, or NULL. A buffer that nobody uses
 * is made one. */
static struct host_range *
lock_find_range(const struct host_lock *lock, struct host_maps *maps, uintptr_t start,
                size_t bytes)
{
    struct host_range *const range = host_range_find(start);

    if (range == NULL || range->start > start ||
        bytes > range->bytes - (start - range->start)) {
        return NULL;
    }
    if (host_range_serves(range, lock->source)) {
        return range->buffer || host_range_is_intact(range, maps, start, bytes) ? range
                                                                                : NULL;
    }
    return range->buffer && range->locks == 0 &&
                   host_range_serve(range, lock->source) == 0
               ? range
               : NULL;
}

/* The counters of a lock with a source: whole pages in whole pages, which can be
 * spliced. */
static int
lock_take_supply(struct host_lock *lock, uintptr_t start, size_t bytes)
{
    const size_t page_bytes = host_page_bytes();
    const uintptr_t first = page_floor(start + (page_bytes - 1));
    const uintptr_t behind = page_floor(start + bytes);

    lock->supply_start = start;
    if (first >= start && first < behind) {
        lock->supply_start = page_floor(start);
        bytes =
            (start - lock->supply_start + bytes + (page_bytes - 1)) & ~(page_bytes - 1);
    }
    return host_supply_take(lock->source, bytes, &lock->supply);
}

/* Looked for once: with a range of the source's there is no supply that could do
 * without it. */
static int
lock_append_needed(struct host_lock *lock, struct host_maps *maps, uintptr_t start,
                   size_t bytes)
{
    struct host_range *const range = lock_find_range(lock, maps, start, bytes);
    int error;

    if (range != NULL) {
        return lock_append_shared(lock, range, start, bytes);
    }
    if (lock->source != NULL) {
        error = lock_take_supply(lock, start, bytes);
        if (error != 0) {
            return error;
        }
    }
    return lock_append_all(lock, maps, start, bytes);
}

static int
lock_fill(struct host_lock *lock, uintptr_t start, size_t bytes)
{
    struct host_maps maps = {0};
    int error = 0;

    if (!is_within_buffer(start, bytes)) {
        /* Without /proc nothing is known of the memory, and differences serve it all.
         */
        if (host_maps_open(&maps, start) == -ENOMEM) {
            return -ENOMEM;
        }
        error = lock_check(&maps, start, bytes);
    }
    if (error == 0) {
        error = lock_append_needed(lock, &maps, start, bytes);
    }
    host_maps_finish(&maps);
    return error;
}

static void
lock_delete(struct host_lock *lock)
{
    if (lock->mapping != NULL) {
        munmap(lock->mapping, lock->mapping_bytes);
    }
    host_counters_finish(&lock->shadow);
    for (size_t i = 0; i < lock->count; i++) {
        const struct host_piece *piece = &lock->pieces[i];

        if (piece->range != NULL) {
            host_range_release(piece->range);
        } else {
            host_unhold(piece->start, piece->bytes);
        }
    }
    host_supply_release(lock->supply);
    if (lock->pieces != &lock->first) {
        free(lock->pieces);
    }
    free(lock);
}

/* Where the range's own alias has the piece. */
static char *
piece_alias(const struct host_piece *piece)
{
    return piece->range->alias + (piece->start - piece->range->start);
}

/* What the lock's mapping has for a piece: the range's pages, or locked ones of its
 * own. */
static int
lock_map_piece(const struct host_piece *piece, uintptr_t place)
{
    const size_t page_bytes = host_page_bytes();
    const size_t offset = piece->start - page_floor(piece->start);
    const size_t bytes = (offset + piece->bytes + (page_bytes - 1)) & ~(page_bytes - 1);

    if (!piece->live) {
        return host_memory_lock(place, bytes);
    }
    return host_range_duplicate(piece->range, page_floor(piece->start), bytes,
                                (char *)place);
}

/* One mapping for pieces of several kinds: private pages, with shared ones put over
 * them. */
static int
lock_map_mixed(struct host_lock *lock, uintptr_t start, size_t bytes)
{
    const uintptr_t first = page_floor(start);
    const size_t page_bytes = host_page_bytes();
    const size_t mapping_bytes =
        (start - first + bytes + (page_bytes - 1)) & ~(page_bytes - 1);
    char *mapping = mmap(NULL, mapping_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mapping == MAP_FAILED) {
        return -errno;
    }
    lock->mapping = mapping;
    lock->mapping_bytes = mapping_bytes;
    lock->counters = mapping + (start - first);
    for (size_t i = 0; i < lock->count; i++) {
        const struct host_piece *piece = &lock->pieces[i];
        const int error = lock_map_piece(piece, (uintptr_t)mapping +
                                                    (page_floor(piece->start) - first));

        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/*
 * The counters, with all that can fail: mapping them is part of locking because what is
 * ours is locked as well, and the status of a limit is that of locking.
 */
static int
lock_make_counters(struct host_lock *lock, uintptr_t start, size_t bytes)
{
    int error = 0;

    if (lock->count == 0) {
        lock->counters = &lock->none;
    } else if (lock->supply != NULL) {
        lock->counters = lock_supplied(lock, start);
    } else if (lock->source != NULL) {
        lock->counters =
            lock->first.range->supplied + (start - lock->first.range->start);
    } else if (lock->count == 1 && lock->shared == 1) {
        lock->counters = piece_alias(&lock->pieces[0]);
    } else if (lock->shared == 0) {
        error = host_counters_make(&lock->shadow, bytes);
        lock->counters = lock->shadow.memory;
    } else {
        error = lock_map_mixed(lock, start, bytes);
    }
    return error;
}

static bool
is_lockable(const MDL *Mdl)
{
    return Mdl->StartVa <= UINTPTR_MAX &&
           Mdl->ByteCount <= UINTPTR_MAX - (uintptr_t)Mdl->StartVa;
}

/* Fills an empty lock. No bytes are nothing, wherever they are. */
static int
lock_pages(struct host_lock *lock, const MDL *Mdl)
{
    static uint64_t locks;
    const uintptr_t start = (uintptr_t)Mdl->StartVa;
    int error = 0;

    lock->number = ++locks;
    if (Mdl->ByteCount > 0) {
        error = lock_fill(lock, start, Mdl->ByteCount);
    }
    return error != 0 ? error : lock_make_counters(lock, start, Mdl->ByteCount);
}

NTSTATUS
host_lock_pages(void *Context, MDL *Mdl)
{
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
        .pieces = &lock->first,
        .source = host->pages.take != NULL ? &host->pages : NULL,
    };

    host_arena_lock();
    error = lock_pages(lock, Mdl);
    if (error != 0) {
        lock_delete(lock);
    }
    host_arena_unlock();
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
    Mdl->MappedSystemVa = lock->counters;
    Mdl->Live = lock->shared == lock->count;
    return STATUS_SUCCESS;
}

/*
 * Moves what was counted since the last time, of one page at most. The exchange takes
 * each hit exactly once while others count. A fault means that the caller protects its
 * memory, or took it away just now: what was not added waits for the next time.
 */
static void
page_flush(uint64_t number, uintptr_t start, ULONG *shadow, size_t counters)
{
    bool held = false;

    for (size_t i = 0; i < counters; i++) {
        ULONG rest;

        if (__atomic_load_n(&shadow[i], __ATOMIC_RELAXED) == 0) {
            continue;
        }
        if (!held && !host_is_held(start, number)) {
            return;
        }
        held = true;
        rest = host_word_add(start + i * COUNTER_BYTES,
                             __atomic_exchange_n(&shadow[i], 0, __ATOMIC_RELAXED));
        if (rest != 0) {
            (void)__atomic_fetch_add(&shadow[i], rest, __ATOMIC_RELAXED);
            return; /* of the same page: the others would fare the same */
        }
    }
}

static void
piece_flush(uint64_t number, const struct host_piece *piece, ULONG *shadow)
{
    const size_t counters = piece->bytes / COUNTER_BYTES;

    for (size_t i = 0; i < counters;) {
        const uintptr_t start = piece->start + i * COUNTER_BYTES;
        const uintptr_t behind = page_floor(start) + host_page_bytes();
        const size_t rest = (behind - start) / COUNTER_BYTES;
        const size_t count = rest < counters - i ? rest : counters - i;

        page_flush(number, start, shadow + i, count);
        i += count;
    }
}

/* The same into a range that somebody else counts in: it is there as long as the piece
 * is. */
static void
piece_move(const struct host_piece *piece, ULONG *shadow)
{
    ULONG *const to = (ULONG *)(void *)piece_alias(piece);

    for (size_t i = 0; i < piece->bytes / COUNTER_BYTES; i++) {
        if (__atomic_load_n(&shadow[i], __ATOMIC_RELAXED) != 0) {
            (void)__atomic_fetch_add(
                &to[i], __atomic_exchange_n(&shadow[i], 0, __ATOMIC_RELAXED),
                __ATOMIC_RELAXED);
        }
    }
}

/* Where the lock's own counters of a piece are; nobody counts in a live one's. */
static ULONG *
piece_shadow(const MDL *Mdl, const struct host_piece *piece)
{
    return (ULONG *)(void *)((char *)Mdl->MappedSystemVa +
                             (piece->start - (uintptr_t)Mdl->StartVa));
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
        ULONG *const shadow = piece_shadow(Mdl, piece);

        if (piece->range == NULL) {
            piece_flush(lock->number, piece, shadow);
        } else if (!piece->live) {
            piece_move(piece, shadow);
        }
    }
    host_arena_unlock();
}

static ULONG64
lock_count_unwritten(const struct host_lock *lock, const MDL *Mdl)
{
    ULONG64 unwritten = 0;

    for (size_t i = 0; i < lock->count; i++) {
        const struct host_piece *const piece = &lock->pieces[i];
        const ULONG *const shadow = piece_shadow(Mdl, piece);

        for (size_t at = 0; piece->range == NULL && at < piece->bytes / COUNTER_BYTES;
             at++) {
            unwritten += shadow[at];
        }
    }
    return unwritten;
}

void
host_unmap_pages(void *Context, MDL *Mdl)
{
    host_flush_pages(Context, Mdl);
    Mdl->Unwritten =
        Mdl->MappedSystemVa != NULL ? lock_count_unwritten(Mdl->HostContext, Mdl) : 0;
    Mdl->MappedSystemVa = NULL;
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
