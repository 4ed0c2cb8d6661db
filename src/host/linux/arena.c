/* SPDX-License-Identifier: MIT */
/*
 * host/linux/arena.c - shared counter pages of this process.
 *
 * A range is a stretch of the caller's address space whose pages are shared memory, so
 * that a second mapping of them, the alias, counts into what the caller reads. There are
 * two ways to become one: ntprof_buffer_alloc maps it so, or locking a buffer puts such
 * pages in the place of the caller's private ones (splice) until the last unlock.
 *
 * The pages are anonymous shared memory, and the alias is made by mremap with an old size
 * of 0. There is no descriptor that the program could close, use up or hand on, nothing is
 * limited by RLIMIT_FSIZE, and pages live exactly as long as somebody maps them: a forked
 * child keeps them after its parent has given them back.
 *
 * Invariants, with the mutex held:
 * - process_pages.ranges has the listed ranges, ascending, none overlapping another.
 * - A range exists while it is listed as a buffer or has locks; its alias stays mapped as
 *   long as it exists, so a lock may hand out pointers into it.
 * - Nothing is put over the caller's memory unless the kernel says in the same call's
 *   reading of the maps that what is there is private memory (splice) or this range (give
 *   back). A caller that unmaps the memory at that same moment races with itself.
 * - A spliced range has a pin: a third mapping, locked in memory, so that the pages stay resident
 *   as long as the range has locks. The alias is not locked itself, because what mremap makes
 *   of a locked mapping is charged once more. Buffers have none: they are sparse.
 * - What a caller's thread writes into a page between copy and move is lost; what another
 *   lock adds by differences is not, because it holds the mutex.
 *
 * fork: parent and child share the counters of all ranges, also of spliced ones. The
 * mutex is held over fork, so the child finds its copy of all this in order.
 */
#include "host/linux/linuxp.h"

#include <errno.h>
#include <ntprof/session.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COPY_BYTES = 16384 };

/* The only mutable state below api/ that no session owns: pages belong to the process. */
static struct {
    pthread_mutex_t mutex;
    pthread_once_t once;
    size_t page_bytes;
    struct host_range **ranges;
    size_t count;
    size_t capacity;
} process_pages = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .once = PTHREAD_ONCE_INIT,
};

static void
arena_take_for_fork(void)
{
    pthread_mutex_lock(&process_pages.mutex);
}

static void
arena_leave_after_fork(void)
{
    pthread_mutex_unlock(&process_pages.mutex);
}

static void
arena_prepare(void)
{
    process_pages.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    /* Without memory for the handlers a fork at the wrong moment may hang the child. */
    (void)pthread_atfork(arena_take_for_fork, arena_leave_after_fork,
                         arena_leave_after_fork);
}

void
host_linux_prepare(void)
{
    pthread_once(&process_pages.once, arena_prepare);
}

size_t
host_page_bytes(void)
{
    pthread_once(&process_pages.once, arena_prepare);
    return process_pages.page_bytes;
}

void
host_arena_lock(void)
{
    pthread_once(&process_pages.once, arena_prepare);
    pthread_mutex_lock(&process_pages.mutex);
}

void
host_arena_unlock(void)
{
    pthread_mutex_unlock(&process_pages.mutex);
}

/* Index of the first range that ends above address. */
static size_t
arena_index(uintptr_t address)
{
    size_t low = 0;
    size_t high = process_pages.count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct host_range *range = process_pages.ranges[middle];

        if (range->start + (range->bytes - 1) < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct host_range *
host_range_find(uintptr_t address)
{
    const size_t index = arena_index(address);

    return index < process_pages.count ? process_pages.ranges[index] : NULL;
}

/* Room for one more range, so that listing it cannot fail. */
static int
arena_reserve(void)
{
    size_t capacity = process_pages.capacity;
    void *ranges;

    if (process_pages.count < capacity) {
        return 0;
    }
    capacity = capacity == 0 ? 16 : capacity * 2;
    ranges = realloc(process_pages.ranges, capacity * sizeof(*process_pages.ranges));
    if (ranges == NULL) {
        return -ENOMEM;
    }
    process_pages.ranges = ranges;
    process_pages.capacity = capacity;
    return 0;
}

static void
arena_list(struct host_range *range)
{
    const size_t index = arena_index(range->start);
    struct host_range **place = process_pages.ranges + index;

    memmove(place + 1, place,
            (process_pages.count - index) * sizeof(struct host_range *));
    *place = range;
    process_pages.count++;
    range->listed = true;
}

void
host_range_unlist(struct host_range *range)
{
    const size_t index = arena_index(range->start);
    struct host_range **place = process_pages.ranges + index;

    process_pages.count--;
    memmove(place, place + 1,
            (process_pages.count - index) * sizeof(struct host_range *));
    range->listed = false;
}

/* Zeroed shared pages. Those never touched take no memory, nor do their neighbours. */
static void *
pages_map(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (pages == MAP_FAILED) {
        return NULL;
    }
    /* Refused by kernels without huge pages, which need no telling. */
    (void)madvise(pages, bytes, MADV_NOHUGEPAGE);
    return pages;
}

/* Another mapping of the same shared pages. */
static int
pages_duplicate(void *pages, size_t bytes, char **alias)
{
    void *made = mremap(pages, 0, bytes, MREMAP_MAYMOVE);

    if (made == MAP_FAILED) {
        return -errno;
    }
    *alias = made;
    return 0;
}

/* Another one, which keeps them in memory. */
static int
pages_pin(void *pages, size_t bytes, char **pin)
{
    int error = pages_duplicate(pages, bytes, pin);

    if (error != 0) {
        return error;
    }
    error = host_memory_lock((uintptr_t)*pin, bytes);
    if (error != 0) {
        munmap(*pin, bytes);
    }
    return error;
}

int
host_range_alias(struct host_range *range)
{
    if (range->alias != NULL) {
        return 0;
    }
    return pages_duplicate((void *)range->start, range->bytes, &range->alias);
}

/*
 * Put the mapping at pages in the place of what is at address, so that a reader sees one
 * or the other. The kernel removes what is there before it moves; should it then run out
 * of memory, a second try is all that can be done.
 */
static int
pages_move(void *pages, size_t bytes, uintptr_t address)
{
    const int flags = MREMAP_MAYMOVE | MREMAP_FIXED;

    if (mremap(pages, bytes, bytes, flags, (void *)address) != MAP_FAILED) {
        return 0;
    }
    if (errno == ENOMEM &&
        mremap(pages, bytes, bytes, flags, (void *)address) != MAP_FAILED) {
        return 0;
    }
    return -errno;
}

static bool
pages_are_zero(const unsigned char *bytes, size_t count)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
}

/* Copy into new, zeroed pages; those that would stay zero are not touched. */
static int
pages_copy(char *to, uintptr_t from, size_t bytes)
{
    unsigned char piece[COPY_BYTES];

    for (size_t done_bytes = 0; done_bytes < bytes;) {
        const size_t rest_bytes = bytes - done_bytes;
        const size_t piece_bytes = rest_bytes < COPY_BYTES ? rest_bytes : COPY_BYTES;
        const int error = host_copy_from(piece, from + done_bytes, piece_bytes);

        if (error != 0) {
            return error;
        }
        for (size_t at = 0; at < piece_bytes; at += 4096) {
            if (!pages_are_zero(piece + at, 4096)) {
                memcpy(to + done_bytes + at, piece + at, 4096);
            }
        }
        done_bytes += piece_bytes;
    }
    return 0;
}

int
host_range_splice(uintptr_t start, size_t bytes, struct host_range **range)
{
    struct host_range *made;
    char *pages;
    int error = -ENOMEM;

    made = malloc(sizeof(*made));
    if (made == NULL || arena_reserve() != 0) {
        goto free_range;
    }
    *made = (struct host_range){.start = start, .bytes = bytes, .locks = 1};

    pages = pages_map(bytes);
    if (pages == NULL) {
        error = -errno;
        goto free_range;
    }
    error = pages_copy(pages, start, bytes);
    if (error != 0) {
        goto unmap_pages;
    }
    error = pages_duplicate(pages, bytes, &made->alias);
    if (error != 0) {
        goto unmap_pages;
    }
    error = pages_pin(pages, bytes, &made->pin);
    if (error != 0) {
        goto unmap_alias;
    }
    error = pages_move(pages, bytes, start);
    if (error != 0) {
        goto unpin;
    }
    arena_list(made);
    *range = made;
    return 0;

unpin:
    munmap(made->pin, bytes);
unmap_alias:
    munmap(made->alias, bytes);
unmap_pages:
    munmap(pages, bytes);
free_range:
    free(made);
    return error;
}

/* Does the mapping show pages of the range? *offset: from the start of the range. */
static bool
range_is_shown(const struct host_range *range, const struct host_mapping *alias,
               const struct host_mapping *mapping, uint64_t *offset)
{
    const uint64_t bytes = (uint64_t)(mapping->last - mapping->start) + 1;

    *offset = mapping->offset - alias->offset;
    return mapping->shared && mapping->device == alias->device &&
           mapping->inode == alias->inode && mapping->start != alias->start &&
           *offset < range->bytes && bytes <= range->bytes - *offset;
}

static const struct host_mapping *
range_alias_mapping(const struct host_range *range, const struct host_maps *maps)
{
    const struct host_mapping *alias = host_maps_find(maps, (uintptr_t)range->alias);

    return alias != NULL && alias->start == (uintptr_t)range->alias && alias->shared &&
                   alias->inode != 0
               ? alias
               : NULL;
}

bool
host_range_is_intact(const struct host_range *range, const struct host_maps *maps,
                     uintptr_t start, size_t bytes)
{
    const struct host_mapping *alias = range_alias_mapping(range, maps);
    const uintptr_t last = start + (bytes - 1);

    while (alias != NULL) {
        const struct host_mapping *mapping = host_maps_find(maps, start);
        uint64_t offset;

        if (mapping == NULL || mapping->start > start ||
            !range_is_shown(range, alias, mapping, &offset) ||
            offset - (mapping->start - range->start) != 0) {
            return false;
        }
        if (mapping->last >= last) {
            return true;
        }
        start = mapping->last + 1;
    }
    return false;
}

/* Private pages with the same contents and protection in the place of shared ones. If there
 * is no memory for that, the caller goes on with the shared ones, which are as good. */
static void
range_give_back_mapping(const struct host_range *range,
                        const struct host_mapping *mapping, uint64_t offset)
{
    const size_t bytes = mapping->last - mapping->start + 1;
    const int usual = PROT_READ | PROT_WRITE;
    char *pages = mmap(NULL, bytes, usual, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED) {
        return;
    }
    if (pages_copy(pages, (uintptr_t)range->alias + (uintptr_t)offset, bytes) != 0 ||
        (mapping->protection != usual &&
         mprotect(pages, bytes, mapping->protection) != 0) ||
        pages_move(pages, bytes, mapping->start) != 0) {
        munmap(pages, bytes);
    }
}

/*
 * Wherever the caller has pages of the range by now, also where it moved them to. Pages
 * that it unmapped, and what it mapped there instead, are left alone.
 */
static void
range_give_back(const struct host_range *range)
{
    const struct host_mapping *alias;
    struct host_maps maps;

    if (host_maps_read(&maps) != 0) {
        return;
    }
    alias = range_alias_mapping(range, &maps);
    for (size_t i = 0; alias != NULL && i < maps.count; i++) {
        uint64_t offset;

        if (range_is_shown(range, alias, &maps.list[i], &offset)) {
            range_give_back_mapping(range, &maps.list[i], offset);
        }
    }
    host_maps_finish(&maps);
}

static void
range_unpin(struct host_range *range)
{
    if (range->pin != NULL) {
        munmap(range->pin, range->bytes);
        range->pin = NULL;
    }
}

static void
range_delete(struct host_range *range)
{
    range_unpin(range);
    if (range->alias != NULL) {
        munmap(range->alias, range->bytes);
    }
    free(range);
}

void
host_range_release(struct host_range *range)
{
    range->locks--;
    if (range->locks > 0 || (range->buffer && range->listed)) {
        return;
    }
    if (!range->buffer) {
        range_unpin(range); /* which would look like pages of the caller's */
        range_give_back(range);
        if (range->listed) {
            host_range_unlist(range);
        }
    }
    range_delete(range);
}

/*
 * The kernel gave these addresses to new memory, so what was listed there is gone: the
 * caller unmapped it by itself.
 */
static void
arena_evict(uintptr_t start, size_t bytes)
{
    const uintptr_t last = start + (bytes - 1);
    struct host_range *range = host_range_find(start);

    while (range != NULL && range->start <= last) {
        host_range_unlist(range);
        if (range->locks == 0) {
            range_delete(range);
        }
        range = host_range_find(start);
    }
}

bool
host_buffer_overlap(uintptr_t start, size_t bytes, uintptr_t *first,
                    size_t *overlap_bytes)
{
    const uintptr_t last = start + (bytes - 1);
    bool found = false;

    if (bytes == 0) {
        return false;
    }
    host_arena_lock();
    for (size_t i = arena_index(start); i < process_pages.count && !found; i++) {
        const struct host_range *range = process_pages.ranges[i];
        const uintptr_t range_last = range->start + (range->bytes - 1);

        if (range->start > last) {
            break;
        }
        if (range->buffer) {
            *first = range->start > start ? range->start : start;
            *overlap_bytes = (range_last < last ? range_last : last) - *first + 1;
            found = true;
        }
    }
    host_arena_unlock();
    return found;
}

ULONG *
ntprof_buffer_alloc(size_t bytes)
{
    const size_t page_bytes = host_page_bytes();
    const size_t whole_bytes = (bytes + (page_bytes - 1)) & ~(page_bytes - 1);
    struct host_range *range;
    void *pages;

    if (bytes == 0 || whole_bytes < bytes) {
        return NULL;
    }
    range = malloc(sizeof(*range));
    if (range == NULL) {
        return NULL;
    }
    pages = pages_map(whole_bytes);
    if (pages == NULL) {
        goto free_range;
    }
    *range = (struct host_range){
        .start = (uintptr_t)pages, .bytes = whole_bytes, .buffer = true};

    host_arena_lock();
    if (arena_reserve() != 0) {
        host_arena_unlock();
        goto unmap_pages;
    }
    arena_evict(range->start, whole_bytes);
    arena_list(range);
    host_arena_unlock();
    return pages;

unmap_pages:
    munmap(pages, whole_bytes);
free_range:
    free(range);
    return NULL;
}

void
ntprof_buffer_free(ULONG *buffer, size_t bytes)
{
    struct host_range *range;

    (void)bytes; /* the range knows; the parameter is for hosts that do not */
    if (buffer == NULL) {
        return;
    }
    host_arena_lock();
    range = host_range_find((uintptr_t)buffer);
    if (range != NULL && range->buffer && range->start == (uintptr_t)buffer) {
        host_range_unlist(range);
        munmap((void *)range->start, range->bytes);
        if (range->locks == 0) {
            range_delete(range);
        }
    }
    host_arena_unlock();
}
