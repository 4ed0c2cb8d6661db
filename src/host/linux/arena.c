/* SPDX-License-Identifier: MIT */
/*
 * host/linux/arena.c - shared counter pages of this process.
 *
 * A range is a stretch of the caller's address space whose pages are shared memory, so
 * that a second mapping of them, the alias, counts into what the caller reads. There
 * are two ways to become one: ntprof_buffer_alloc maps it so, or locking a buffer puts
 * such pages in the place of the caller's private ones (splice) until the last unlock.
 *
 * The pages are anonymous shared memory, and the alias is made by mremap with an old
 * size of 0. There is no descriptor that the program could close, use up or hand on,
 * nothing is limited by RLIMIT_FSIZE, and pages live exactly as long as somebody maps
 * them: a forked child keeps them after its parent has given them back.
 *
 * A session whose back end finds counters nowhere else has a page source, and its
 * ranges are made of that source's pages (supply.c) in the same way. A buffer changes
 * its pages when it is locked and nobody else has it locked; where two sessions
 * disagree, the later one moves differences.
 *
 * Invariants, with the mutex held:
 * - process_pages.ranges has the listed ranges, by address, none overlapping another.
 * - A range exists while it is listed as a buffer or has locks; its alias stays mapped
 *   as long as it exists, so a lock may hand out pointers into it.
 * - Nothing is put over the caller's memory unless the kernel says in the same call
 *   that what is there is private memory (splice) or this range (give back). A caller
 *   that unmaps the memory at that same moment races with itself.
 * - The alias of a spliced range is locked in memory, so that the pages stay resident
 *   as long as the range has locks. What mremap makes of a locked mapping is charged
 *   once more, so further mappings are made of the caller's. Buffers are not locked:
 *   they are sparse.
 * - Spliced ranges, and what stays of them, take at most seven eighths of the mappings
 *   that a process may have: the program needs some too, and so do differences, which
 *   serve what is not spliced then. Private pages that were moved to their place never
 *   become one mapping with those beside them again: the kernel keeps where each was
 *   first touched, and merges what is in a row there.
 * - What a caller's thread writes into a page between copy and move is lost; what
 *   another lock adds by differences is not, because it holds the mutex.
 * - A supply of which the caller may see pages that are not the range's any more is
 *   marked seen.
 *
 * fork: the mutex is held over it, so the child finds its copy of all this in order.
 * What the caller sees as its own private memory is that in the child, too: before fork
 * returns there, private copies take the place of spliced pages. Buffers stay shared
 * with the child, unless a source has their pages, which will be used again for what is
 * the parent's alone: then the child gets pages of its own. The parent's locks are
 * nobody's in the child, whose sessions are not the parent's.
 */
#include "host/linux/linuxp.h"

#include <errno.h>
#include <ntprof/session.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    COPY_BYTES = 16384,
    SPLICE_MAPPINGS = 3,    /* the pages, what is behind them, the alias */
    LEFT_MAPPINGS = 2,      /* the first two, for what was given back */
    USUAL_MAPPINGS = 65530, /* vm.max_map_count, if it is not told */
    SPLICE_EIGHTHS = 7,     /* of them */
    RECOUNT_SPLICES = 1024
};

/* State that no session owns: pages belong to the process. */
static struct {
    pthread_mutex_t mutex;
    pthread_once_t once;
    size_t page_bytes;
    void *ranges;             /* of tsearch */
    struct host_range *above; /* while it is searched: the least that lies above */
    size_t spliced;           /* ranges */
    size_t left;              /* at most: given back, and mappings of their own still */
    size_t mappings_most;     /* for both of them; 0: not found out yet */
    size_t tries;             /* to splice, since mappings were counted */
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

static void arena_leave_in_child(void);

static void
arena_prepare(void)
{
    process_pages.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    /* Without memory for the handlers a fork at the wrong moment may hang the child. */
    (void)pthread_atfork(arena_take_for_fork, arena_leave_after_fork,
                         arena_leave_in_child);
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

/* The key is not of the tree. The last range that a search leaves to its right is the
 * next. */
static int
range_compare(const void *left, const void *right)
{
    const struct host_range *const key = left;
    const struct host_range *const range = right;

    if (key->start + (key->bytes - 1) < range->start) {
        process_pages.above = (struct host_range *)(uintptr_t)right;
        return -1;
    }
    return key->start > range->start + (range->bytes - 1);
}

struct host_range *
host_range_find(uintptr_t address)
{
    const struct host_range key = {.start = address, .bytes = 1};
    struct host_range *const *found;

    process_pages.above = NULL;
    found = tfind(&key, &process_pages.ranges, range_compare);
    return found != NULL ? *found : process_pages.above;
}

/* Nothing that it overlaps is listed. */
static int
arena_list(struct host_range *range)
{
    if (tsearch(range, &process_pages.ranges, range_compare) == NULL) {
        return -ENOMEM;
    }
    range->listed = true;
    return 0;
}

void
host_range_unlist(struct host_range *range)
{
    tdelete(range, &process_pages.ranges, range_compare);
    range->listed = false;
}

/* ---- pages ---- */

/* Zeroed shared pages. Those never touched take no memory, nor do their neighbours. */
static void *
pages_map(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (pages == MAP_FAILED) {
        return NULL;
    }
    /* Refused by kernels without huge pages, which need no telling. One page is never
     * huge. */
    if (bytes > host_page_bytes()) {
        (void)madvise(pages, bytes, MADV_NOHUGEPAGE);
    }
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
pages_duplicate_locked(void *pages, size_t bytes, char **alias)
{
    int error = pages_duplicate(pages, bytes, alias);

    if (error != 0) {
        return error;
    }
    error = host_memory_lock((uintptr_t)*alias, bytes);
    if (error != 0) {
        munmap(*alias, bytes);
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
 * Put the mapping at pages in the place of what is at address, so that a reader sees
 * one or the other. The kernel removes what is there before it moves; should it then
 * run out of memory, a second try is all that can be done.
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

/* Copy what we have ourselves into new, zeroed pages; those that would stay zero are
 * not touched. */
static void
pages_put(char *to, const unsigned char *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 4096) {
        if (!pages_are_zero(from + at, 4096)) {
            memcpy(to + at, from + at, 4096);
        }
    }
}

/* The same of memory that may be gone by now. */
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
        pages_put(to + done_bytes, piece, piece_bytes);
        done_bytes += piece_bytes;
    }
    return 0;
}

/* The same of all that a range's alias has. Shared pages that nobody has used yet would
 * be made by reading them. */
static int
pages_copy_range(char *to, const struct host_range *range)
{
    const uintptr_t from = (uintptr_t)range->alias;
    const size_t page_bytes = host_page_bytes();
    size_t at = 0;

    if (range->supply != NULL) {
        return pages_copy(to, from, range->bytes);
    }
    while ((at = host_used_next(from, range->bytes, at)) < range->bytes) {
        const int error = pages_copy(to + at, from + at, page_bytes);

        if (error != 0) {
            return error;
        }
        at += page_bytes;
    }
    return 0;
}

/* Read once: one that an administrator lowers later is met as the kernel's refusal. */
static size_t
mappings_most(void)
{
    char text[32];
    unsigned long long mappings = 0;

    if (process_pages.mappings_most == 0) {
        if (host_file_read("/proc/sys/vm/max_map_count", text, sizeof(text) - 1) > 0) {
            mappings = strtoull(text, NULL, 10);
        }
        mappings = mappings == 0 ? USUAL_MAPPINGS : mappings;
        process_pages.mappings_most =
            (size_t)(mappings / 8 * SPLICE_EIGHTHS) + SPLICE_MAPPINGS;
    }
    return process_pages.mappings_most;
}

static bool
mappings_are_used_up(void)
{
    return process_pages.spliced * SPLICE_MAPPINGS +
               process_pages.left * LEFT_MAPPINGS >=
           mappings_most();
}

/* What was left and unmapped by the caller since is left no more. */
static void
mappings_count(void)
{
    const size_t spliced = process_pages.spliced * SPLICE_MAPPINGS;
    struct host_maps maps;

    process_pages.tries = 0;
    if (host_maps_read(&maps) == 0) {
        const size_t others = maps.count > spliced ? maps.count - spliced : 0;

        if (process_pages.left > others / LEFT_MAPPINGS) {
            process_pages.left = others / LEFT_MAPPINGS;
        }
        host_maps_finish(&maps);
    }
}

/* To count takes a step for each mapping, so it is not done at each start. */
static bool
splice_is_allowed(void)
{
    process_pages.tries++;
    if (mappings_are_used_up() && process_pages.tries >= RECOUNT_SPLICES) {
        mappings_count();
    }
    return !mappings_are_used_up();
}

/* Zeroed pages for a range: its supply's, or new ones. */
static int
range_map_pages(const struct host_range *range, char **pages)
{
    if (range->supply != NULL) {
        return host_supply_map(range->supply, range->supplied, range->bytes, pages);
    }
    *pages = pages_map(range->bytes);
    return *pages != NULL ? 0 : -errno;
}

/* The alias of pages that are not in their place yet. What a source has is resident by
 * itself. */
static int
range_make_alias(struct host_range *range, char *pages)
{
    if (range->supply != NULL) {
        return host_supply_map(range->supply, range->supplied, range->bytes,
                               &range->alias);
    }
    return range->buffer ? pages_duplicate(pages, range->bytes, &range->alias)
                         : pages_duplicate_locked(pages, range->bytes, &range->alias);
}

/* Everything but to put the pages in their place. What is copied through the alias,
 * which is resident, needs no other fault. */
static int
splice_prepare(struct host_range *range, char **pages)
{
    char *made = NULL;
    int error = range_map_pages(range, &made);

    if (error != 0) {
        return error;
    }
    error = range_make_alias(range, made);
    if (error != 0) {
        goto unmap_pages;
    }
    error = pages_copy(range->alias, range->start, range->bytes);
    if (error != 0) {
        goto unmap_alias;
    }
    error = arena_list(range);
    if (error != 0) {
        goto unmap_alias;
    }
    *pages = made;
    return 0;

unmap_alias:
    munmap(range->alias, range->bytes);
unmap_pages:
    munmap(made, range->bytes);
    return error;
}

static void
splice_undo(struct host_range *range, char *pages)
{
    host_range_unlist(range);
    munmap(range->alias, range->bytes);
    munmap(pages, range->bytes);
}

int
host_range_splice(uintptr_t start, size_t bytes, struct host_supply *supply,
                  char *supplied, struct host_range **range)
{
    struct host_range *made;
    char *pages = NULL;
    int error;

    if (!splice_is_allowed()) {
        return -ENOSPC;
    }
    made = malloc(sizeof(*made));
    if (made == NULL) {
        return -ENOMEM;
    }
    *made = (struct host_range){.start = start,
                                .bytes = bytes,
                                .locks = 1,
                                .supply = supply,
                                .supplied = supplied};
    error = splice_prepare(made, &pages);
    if (error != 0) {
        goto free_range;
    }
    error = pages_move(pages, bytes, start);
    if (error != 0) {
        goto undo;
    }
    process_pages.spliced++;
    if (supply != NULL) {
        supply->references++;
    }
    *range = made;
    return 0;

undo:
    splice_undo(made, pages);
free_range:
    if (supply != NULL) {
        memset(supplied, 0, bytes); /* differences may begin there now */
    }
    free(made);
    return error;
}

/* The range's own pages, as the kernel tells of its alias, which may be one mapping
 * with others of the same source. False if it cannot be told. */
static bool
range_identify(const struct host_range *range, struct host_maps *maps,
               struct host_mapping *own)
{
    const uintptr_t alias = (uintptr_t)range->alias;
    const struct host_mapping *const found =
        alias != 0 ? host_maps_find(maps, alias) : NULL;

    if (found == NULL || found->start > alias || !found->shared || found->inode == 0) {
        return false;
    }
    *own = *found;
    own->offset += alias - found->start;
    own->start = alias;
    own->last = alias + (range->bytes - 1);
    return true;
}

static bool
is_same_file(const struct host_mapping *left, const struct host_mapping *right)
{
    return left->shared && right->shared && left->device == right->device &&
           left->inode == right->inode;
}

/* Does the mapping show pages of the range and no others? *offset: from the start of
 * the range. */
static bool
range_is_shown(const struct host_range *range, const struct host_mapping *own,
               const struct host_mapping *mapping, uint64_t *offset)
{
    const uint64_t bytes = (uint64_t)(mapping->last - mapping->start) + 1;

    *offset = mapping->offset - own->offset;
    return is_same_file(mapping, own) && mapping->start != own->start &&
           *offset < range->bytes && bytes <= range->bytes - *offset;
}

/*
 * The first part of the range, from *address on, whose pages are where they were put;
 * false if there is none. A mapping may reach beyond the range at both ends: neighbours
 * of the same source are one.
 */
static bool
range_next_in_place(const struct host_range *range, const struct host_mapping *own,
                    struct host_maps *maps, uintptr_t *address,
                    struct host_mapping *part)
{
    const uintptr_t last = range->start + (range->bytes - 1);
    const struct host_mapping *mapping = host_maps_find(maps, *address);

    while (mapping != NULL && mapping->start <= last) {
        if (mapping->start > *address) {
            *address = mapping->start;
        }
        if (is_same_file(mapping, own) &&
            mapping->offset + (*address - mapping->start) ==
                own->offset + (*address - range->start)) {
            *part = *mapping;
            part->start = *address;
            part->last = mapping->last < last ? mapping->last : last;
            return true;
        }
        if (mapping->last >= last) {
            return false;
        }
        *address = mapping->last + 1;
        mapping = host_maps_find(maps, *address);
    }
    return false;
}

bool
host_range_is_intact(const struct host_range *range, struct host_maps *maps,
                     uintptr_t start, size_t bytes)
{
    const uintptr_t last = start + (bytes - 1);
    struct host_mapping own;
    struct host_mapping part;
    uintptr_t address = start;

    if (!range_identify(range, maps, &own)) {
        return false;
    }
    while (range_next_in_place(range, &own, maps, &address, &part) &&
           part.start == start) {
        if (part.last >= last) {
            return true;
        }
        start = part.last + 1;
        address = start;
    }
    return false;
}

/* Does one mapping at place show these pages of the range? -EFAULT if not. */
static int
range_check_duplicate(const struct host_range *range, uintptr_t start, size_t bytes,
                      const char *place)
{
    struct host_mapping own;
    struct host_maps maps;
    bool shown = false;
    int error;

    error = host_maps_open(&maps, (uintptr_t)range->alias);
    if (error != 0) {
        return error;
    }
    if (range_identify(range, &maps, &own)) {
        const struct host_mapping *mapping = host_maps_find(&maps, (uintptr_t)place);
        uint64_t offset;

        shown = mapping != NULL && mapping->start == (uintptr_t)place &&
                mapping->last == (uintptr_t)place + (bytes - 1) &&
                range_is_shown(range, &own, mapping, &offset) &&
                offset == start - range->start;
    }
    host_maps_finish(&maps);
    return shown ? 0 : -EFAULT;
}

/*
 * A caller that has taken its pages away just now would have us count into something
 * else. Private memory in their place is EINVAL.
 */
int
host_range_duplicate(const struct host_range *range, uintptr_t start, size_t bytes,
                     char *place)
{
    char *from = range->buffer ? range->alias + (start - range->start) : (char *)start;

    if (mremap(from, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED) {
        return errno == EINVAL && !range->buffer ? -EFAULT : -errno;
    }
    return range->buffer ? 0 : range_check_duplicate(range, start, bytes, place);
}

/* Private pages with the same contents and protection in the place of shared ones.
 * False if there is no memory for that: the caller goes on with the shared ones, which
 * are as good. */
static bool
range_give_back_mapping(const struct host_range *range,
                        const struct host_mapping *mapping, uint64_t offset)
{
    const size_t bytes = mapping->last - mapping->start + 1;
    const int usual = PROT_READ | PROT_WRITE;
    char *pages = host_private_map(bytes);

    if (pages == NULL) {
        return false;
    }
    pages_put(pages, (const unsigned char *)range->alias + offset, bytes);
    if ((mapping->protection != usual &&
         mprotect(pages, bytes, mapping->protection) != 0) ||
        pages_move(pages, bytes, mapping->start) != 0) {
        munmap(pages, bytes);
        return false;
    }
    return true;
}

/* Where the pages were put. False if they were not all there, or could not all be given
 * back. */
static bool
range_give_back_in_place(const struct host_range *range, const struct host_mapping *own,
                         struct host_maps *maps)
{
    uintptr_t address = range->start;
    size_t given_bytes = 0;
    struct host_mapping part;

    while (range_next_in_place(range, own, maps, &address, &part)) {
        if (range_give_back_mapping(range, &part, part.start - range->start)) {
            given_bytes += part.last - part.start + 1;
        }
        address = part.last + 1;
        if (address == range->start + range->bytes) {
            break;
        }
    }
    return given_bytes == range->bytes;
}

/* And wherever else: where it moved them to. */
static void
range_give_back_elsewhere(const struct host_range *range,
                          const struct host_mapping *own)
{
    struct host_maps maps;

    if (host_maps_read(&maps) != 0) {
        return;
    }
    for (size_t i = 0; i < maps.count; i++) {
        uint64_t offset;

        if (range_is_shown(range, own, &maps.list[i], &offset)) {
            (void)range_give_back_mapping(range, &maps.list[i], offset);
        }
    }
    host_maps_finish(&maps);
}

/*
 * Wherever the caller has pages of the range by now, also where it moved them to. Pages
 * that it unmapped, and what it mapped there instead, are left alone. If all of them
 * are where they were put, others are not looked for, which takes a step for each
 * mapping of the process: a second mapping that the caller made of them besides stays
 * shared, with nobody.
 *
 * All maps of BPF look like one file, so of a source's pages those elsewhere cannot be
 * found.
 */
static void
range_give_back(const struct host_range *range)
{
    struct host_mapping own;
    struct host_maps maps;
    bool known = false;
    bool given = false;

    if (host_maps_open(&maps, (uintptr_t)range->alias) == 0) {
        known = range_identify(range, &maps, &own);
        given = known && range_give_back_in_place(range, &own, &maps);
        host_maps_finish(&maps);
    }
    if (!given && range->supply != NULL) {
        range->supply->seen = true;
    } else if (!given && known) {
        range_give_back_elsewhere(range, &own);
    }
}

static void
range_delete(struct host_range *range)
{
    if (range->alias != NULL) {
        munmap(range->alias, range->bytes);
    }
    host_supply_release(range->supply);
    free(range);
}

void
host_range_release(struct host_range *range)
{
    range->locks--;
    if (range->locks > 0 || (range->buffer && range->listed)) {
        return;
    }
    if (!range->buffer && range->alias != NULL) {
        range_give_back(range);
        process_pages.spliced--;
        process_pages.left++;
        if (range->listed) {
            host_range_unlist(range);
        }
    }
    range_delete(range);
}

/* ---- pages of sources ---- */

bool
host_range_serves(const struct host_range *range, const struct host_page_source *source)
{
    if (range->supply == NULL || source == NULL) {
        return range->supply == NULL && source == NULL;
    }
    return range->supply->source == source;
}

static bool
range_is_in_place(const struct host_range *range)
{
    struct host_maps maps;
    bool intact;

    if (host_maps_open(&maps, range->start) != 0) {
        return false;
    }
    intact = host_range_is_intact(range, &maps, range->start, range->bytes);
    host_maps_finish(&maps);
    return intact;
}

/* The same contents in other pages: those of changed, which is a copy of range with
 * another supply. */
static int
range_change_pages(struct host_range *range, struct host_range *changed)
{
    char *pages = NULL;
    int error;

    changed->alias = NULL;
    error = range_map_pages(changed, &pages);
    if (error != 0) {
        return error;
    }
    error = pages_copy_range(pages, range);
    if (error == 0) {
        error = range_make_alias(changed, pages);
    }
    if (error != 0) {
        goto unmap_pages;
    }
    error = pages_move(pages, range->bytes, range->start);
    if (error != 0) {
        goto unmap_alias;
    }
    munmap(range->alias, range->bytes);
    range->alias = changed->alias;
    range->supply = changed->supply;
    range->supplied = changed->supplied;
    return 0;

unmap_alias:
    munmap(changed->alias, range->bytes);
unmap_pages:
    munmap(pages, range->bytes);
    return error;
}

int
host_range_serve(struct host_range *range, const struct host_page_source *source)
{
    struct host_supply *const old = range->supply;
    struct host_range changed = *range;
    int error = host_range_alias(range);

    if (error == 0 && !range_is_in_place(range)) {
        error = -EFAULT; /* the caller has other memory there by now */
    }
    if (error != 0) {
        return error;
    }
    changed.supply = NULL;
    changed.supplied = NULL;
    if (source != NULL) {
        error = host_supply_take(source, range->bytes, &changed.supply);
        if (error != 0) {
            return error;
        }
        changed.supplied = changed.supply->memory;
    }
    error = range_change_pages(range, &changed);
    host_supply_release(error == 0 ? old : changed.supply);
    return error;
}

/* The next range in the order of addresses; NULL behind the last. */
static struct host_range *
range_next(const struct host_range *range)
{
    return host_range_find(range->start + range->bytes);
}

/* Buffers leave its pages, so that these go with it; those that cannot, keep them. */
void
host_ranges_disown(const struct host_page_source *source)
{
    host_arena_lock();
    for (struct host_range *range = host_range_find(0); range != NULL;
         range = range_next(range)) {
        if (range->buffer && range->locks == 0 && range->supply != NULL &&
            range->supply->source == source) {
            (void)host_range_serve(range, NULL);
        }
    }
    host_supplies_disown(source);
    host_arena_unlock();
}

/* A copy of the caller's own, as fork makes of private memory. What locks the parent
 * has are of no use. */
static void
range_part_from_parent(struct host_range *range)
{
    if (range->buffer) {
        if (range->supply != NULL) {
            (void)host_range_serve(range, NULL);
        }
        return;
    }
    range_give_back(range);
    munmap(range->alias, range->bytes);
    range->alias = NULL;
    process_pages.spliced--;
    process_pages.left++;
    host_range_unlist(range);
}

/* Without memory the child goes on with the parent's pages. Sources are the parent's.
 */
static void
arena_leave_in_child(void)
{
    struct host_range *range = host_range_find(0);

    host_supplies_disown(NULL);
    while (range != NULL) {
        struct host_range *const next = range_next(range);

        range_part_from_parent(range);
        range = next;
    }
    pthread_mutex_unlock(&process_pages.mutex);
}

/* The addresses are not the range's any more. The caller may have moved some of its
 * pages before. */
static void
range_take_back(struct host_range *range)
{
    host_range_unlist(range);
    if (range->supply != NULL) {
        range->supply->seen = true;
    }
    if (range->locks == 0) {
        range_delete(range);
    }
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
        range_take_back(range);
        range = host_range_find(start);
    }
}

bool
host_buffer_overlap(uintptr_t start, size_t bytes, uintptr_t *first,
                    size_t *overlap_bytes)
{
    const uintptr_t last = start + (bytes - 1);
    struct host_range *range;
    bool found = false;

    if (bytes == 0) {
        return false;
    }
    host_arena_lock();
    range = host_range_find(start);
    while (range != NULL && !range->buffer && range->start <= last) {
        range = host_range_find(range->start + range->bytes);
    }
    if (range != NULL && range->start <= last) {
        const uintptr_t range_last = range->start + (range->bytes - 1);

        *first = range->start > start ? range->start : start;
        *overlap_bytes = (range_last < last ? range_last : last) - *first + 1;
        found = true;
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
    int error;

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
    arena_evict(range->start, whole_bytes);
    error = arena_list(range);
    host_arena_unlock();
    if (error != 0) {
        goto unmap_pages;
    }
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
        munmap((void *)range->start, range->bytes);
        range_take_back(range);
    }
    host_arena_unlock();
}
