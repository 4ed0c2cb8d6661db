/* SPDX-License-Identifier: MIT */
/*
 * image.c - images, and the counters of each.
 *
 * Terms:
 *   place       where code is in its image, usually an offset in the file: image_kind
 *   segment     the 32-bit counters of a range of places, for programs of one name
 *   fold        move hits from the counters of segments to the image's fresh counts, of
 *               64 bits, and reset the counters
 *   fresh       counts that were folded since the last snapshot
 *   taken       counts that the current snapshot has taken over from fresh
 *   totals      counts of all snapshots
 *   kernel map  a second segment for the kernel's code, with buckets of 2 MB: it shows
 *               which parts of the kernel's own counters have hits and must be folded
 */
#include "record/collect/image.h"

#include "base/clock.h"
#include "record/collect/mapped_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Bucket size of the kernel map: 2 MB, so one page of counters covers 2 GB. */
static const uint32_t kernel_map_log2 = 21;

/* Limit of the counters of one segment and source; a longer segment gets larger
 * buckets. */
static const uint64_t segment_bytes_max = UINT64_C(1) << 31;

/* The open files of images may be one FILES_SHARE-th of the descriptor limit, and
 * at least FILES_MIN. */
enum { FILES_SHARE = 4, FILES_MIN = 64 };

/* Perf maps that are kept open may be one MAPS_SHARE-th of the files of images. */
enum { MAPS_SHARE = 4 };

/* of the longest path of an image without a file: "[anon:PID:path-too-long]" */
enum { ANONYMOUS_PATH_BYTES = 48 };

/* --- memory --- */

void
image_set_init(struct image_set *set, size_t source_count, uint32_t bucket_log2)
{
    struct rlimit files = {0};

    *set = (struct image_set){.source_count = source_count, .bucket_log2 = bucket_log2};
    getrlimit(RLIMIT_NOFILE, &files);
    set->files_max = (size_t)(files.rlim_cur / FILES_SHARE);
    if (set->files_max < FILES_MIN) {
        set->files_max = FILES_MIN;
    }
    set->jits.maps_max = set->files_max / MAPS_SHARE;
}

/* Free a segment. The counters of some sources may be NULL, as segment_new leaves them
 * when memory runs out. */
static void
segment_delete(const struct image_set *set, struct image_segment *segment)
{
    for (size_t i = 0; i < set->source_count; i++) {
        ntprof_buffer_free(segment->counters[i], segment->bytes);
    }
    free(segment);
}

void
image_release(struct image_set *set, struct image *image)
{
    memset(image->recent, 0, sizeof(image->recent));
    while (image->segments != NULL) {
        struct image_segment *const segment = image->segments;

        image->segments = segment->next;
        segment_delete(set, segment);
    }
}

void
image_delete(struct image_set *set, struct image *image)
{
    set->files_open -= image->opened;
    set->anonymous -= image->kind == IMAGE_ANONYMOUS;
    image_release(set, image);
    if (image->fd >= 0) {
        close(image->fd);
    }
    if (image->taken_fd >= 0) {
        close(image->taken_fd);
    }
    jit_finish(&image->jit);
    jit_finish(&image->taken_jit);
    counts_finish(&image->fresh);
    counts_finish(&image->taken);
    counts_finish(&image->totals);
    free(image->path);
    free(image);
}

void
image_set_finish(struct image_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        image_delete(set, set->images[i]);
    }
    free(set->images);
    hash_index_finish(&set->index);
    roots_finish(&set->roots);
    jits_finish(&set->jits);
}

/* --- the set --- */

/* Whether the image's file has the generation number that was notified with a mapping.
 * Mappings from before the watch are notified with 0, later ones of the same file with
 * its number; then the number that was read from the opened file is compared. */
static bool
generation_equal(const struct image *image, uint64_t notified)
{
    return image->inode_generation == notified ||
           (image->inode_generation == 0 && image->read_generation == notified);
}

/* Whether the image in the set is the one that wanted describes: the same file, or the
 * same kind of code without a file in the same process. */
static bool
image_equal(const struct image *image, const struct image *wanted)
{
    return image->kind == wanted->kind && image->pid == wanted->pid &&
           image->device_major == wanted->device_major &&
           image->device_minor == wanted->device_minor &&
           image->inode == wanted->inode &&
           generation_equal(image, wanted->inode_generation) &&
           strcmp(image->path, wanted->path) == 0;
}

/* Return a hash that is the same for images that are image_equal. It leaves out what
 * may become known later, such as the generation. */
static uint32_t
image_hash(const struct image *image)
{
    uint32_t hash = hash_bytes(image->path, strlen(image->path));

    hash = hash_mix(hash, image->inode);
    return hash_mix(hash, (uint64_t)image->pid << 8 | (uint64_t)image->kind);
}

/* Add a copy of wanted to the set and return it. The copy takes over wanted->path,
 * which must be allocated. Returns NULL if memory runs out or there are too many
 * images; the path is still the caller's then. */
static struct image *
image_set_add(struct image_set *set, const struct image *wanted, uint32_t hash)
{
    struct image *image;

    if (set->count >= IMAGE_SET_MAX) {
        return NULL;
    }
    image = malloc(sizeof(*image));
    if (set->count == set->capacity) {
        const size_t capacity = set->capacity == 0 ? 64 : set->capacity * 2;
        struct image **const images =
            reallocarray(set->images, capacity, sizeof(*images));

        if (images == NULL) {
            free(image);
            return NULL;
        }
        set->images = images;
        set->capacity = capacity;
    }
    if (image == NULL || !hash_index_add(&set->index, hash, (uint32_t)set->count)) {
        free(image);
        return NULL;
    }
    *image = *wanted;
    image->number = (uint32_t)set->count;
    set->images[set->count++] = image;
    return image;
}

/* Find the image equal to wanted, whose hash is given; NULL if there is none. */
static struct image *
image_set_look_up(const struct image_set *set, const struct image *wanted,
                  uint32_t hash)
{
    size_t probe = 0;

    for (uint32_t at = hash_index_find(&set->index, hash, &probe);
         at != HASH_INDEX_NONE; at = hash_index_find(&set->index, hash, &probe)) {
        if (image_equal(set->images[at], wanted)) {
            return set->images[at];
        }
    }
    return NULL;
}

/* Find the image equal to wanted, or add it with a copy of its path and set *added.
 * Returns NULL if memory runs out, memory_max is exceeded or there are too many. */
static struct image *
image_set_get(struct image_set *set, const struct image *wanted, bool *added)
{
    const uint32_t hash = image_hash(wanted);
    struct image *image = image_set_look_up(set, wanted, hash);
    struct image copy = *wanted;

    *added = false;
    if (image != NULL) {
        return image;
    }
    if (set->full) {
        set->refused++;
        return NULL;
    }
    copy.path = strdup(wanted->path);
    image = copy.path != NULL ? image_set_add(set, &copy, hash) : NULL;
    if (image == NULL) {
        free(copy.path);
        return NULL;
    }
    *added = true;
    return image;
}

/* Whether the set has an image equal to wanted. */
static bool
image_set_contains(const struct image_set *set, const struct image *wanted)
{
    return image_set_look_up(set, wanted, image_hash(wanted)) != NULL;
}

/* --- which images --- */

/* Return an image of a kind and path that image_set_get can search for and copy. It
 * owns nothing, path included. */
static struct image
image_wanted(enum image_kind kind, const char *path)
{
    struct image wanted = {.kind = kind,
                           .path = (char *)(uintptr_t)path,
                           .fd = -1,
                           .taken_fd = -1,
                           .root = -1,
                           .taken_root = -1};

    jit_init(&wanted.jit);
    jit_init(&wanted.taken_jit);
    return wanted;
}

/* Return what to search the set for to find the image of a mapped file. */
static struct image
file_wanted(const ntprof_notification *map)
{
    struct image wanted = image_wanted(IMAGE_FILE, map->name);

    wanted.device_major = map->device_major;
    wanted.device_minor = map->device_minor;
    wanted.inode = map->inode;
    wanted.inode_generation = map->inode_generation;
    return wanted;
}

/* Return what to search the set for to find the image of a process's code without a
 * file: that of all other processes (pid 0) if too many have one of their own. path is
 * room for its name. */
static struct image
anonymous_wanted(const struct image_set *set, const ntprof_notification *map,
                 char path[static ANONYMOUS_PATH_BYTES])
{
    struct image wanted = image_wanted(IMAGE_ANONYMOUS, path);

    /* In place of a path that is longer than a page, Linux reports "//toolong" and no
     * inode, so such a file cannot be distinguished from others. */
    snprintf(path, ANONYMOUS_PATH_BYTES, "[anon:%" PRIu32 "%s]", map->pid,
             strcmp(map->name, "//toolong") == 0 ? ":path-too-long" : "");
    wanted.pid = map->pid;
    if (set->anonymous >= IMAGE_SET_ANONYMOUS_MAX &&
        !image_set_contains(set, &wanted)) {
        wanted.pid = 0;
        wanted.path = (char *)(uintptr_t) "[anon:other]";
    }
    return wanted;
}

/* Whether a mapped file holds code that the process made, and is no program or library:
 * it is in memory only, and is no ELF file. A file in memory that cannot be opened
 * counts as such code. code is the image of the code without a file of the process,
 * which remembers the last such file, or NULL if it has none yet. */
static bool
is_code_of_process(const struct image_set *set, const ntprof_notification *map,
                   const uint32_t *ancestors, size_t count, const struct image *code)
{
    const struct image wanted = file_wanted(map);

    if (!mapped_file_is_memory(map)) {
        return false;
    }
    if (code != NULL && code->memory_inode == map->inode &&
        code->memory_device == makedev(map->device_major, map->device_minor)) {
        return true;
    }
    return !image_set_contains(set, &wanted) &&
           !mapped_file_holds_elf(&wanted, map, ancestors, count);
}

/* Find or add the image of code without a file, and remember what leads to its names
 * and, if map has an inode, which file in memory holds it. Returns NULL as
 * image_set_get does. */
static struct image *
find_anonymous(struct image_set *set, const ntprof_notification *map,
               const uint32_t *ancestors, size_t count, const struct image *wanted)
{
    bool added;
    struct image *const image = image_set_get(set, wanted, &added);

    if (image == NULL) {
        return NULL;
    }
    set->anonymous += added;
    if (image->pid != 0 && !image->jit.known) {
        jit_remember(&set->jits, &image->jit, image->pid, ancestors, count,
                     clock_now_ns());
    }
    if (map->inode != 0) {
        image->memory_device = makedev(map->device_major, map->device_minor);
        image->memory_inode = map->inode;
    }
    return image;
}

/* Return what to search the set for to find the image of the vdso. That of
 * 32-bit programs is another one, and gets no names, because this process has no
 * copy of it to read. */
static struct image
vdso_wanted(const ntprof_notification *map)
{
    return image_wanted(IMAGE_VDSO, map->base > UINT32_MAX ? "[vdso]" : "[vdso32]");
}

/* --- finding and remembering --- */

struct image *
image_set_find(struct image_set *set, const ntprof_notification *map,
               const uint32_t *ancestors, size_t count)
{
    const bool is_vdso = strcmp(map->name, "[vdso]") == 0;
    char path[ANONYMOUS_PATH_BYTES] = "";
    struct image wanted = anonymous_wanted(set, map, path);
    struct image *image;
    bool added;

    if (!is_vdso &&
        (mapped_file_is_none(map) ||
         is_code_of_process(set, map, ancestors, count,
                            image_set_look_up(set, &wanted, image_hash(&wanted))))) {
        return find_anonymous(set, map, ancestors, count, &wanted);
    }
    wanted = is_vdso ? vdso_wanted(map) : file_wanted(map);
    image = image_set_get(set, &wanted, &added);
    if (image != NULL && image->kind == IMAGE_FILE) {
        mapped_file_open(set, image, map, ancestors, count);
    }
    return image;
}

void
image_set_remember(struct image_set *set, struct image *image,
                   const uint32_t *ancestors, size_t count)
{
    if (image->kind == IMAGE_ANONYMOUS && image->pid != 0) {
        jit_remember(&set->jits, &image->jit, image->pid, ancestors, count,
                     clock_now_ns());
    }
}

void
image_set_find_maps(struct image_set *set)
{
    const uint64_t now_ns = clock_now_ns();
    struct jits *const jits = &set->jits;

    if (now_ns < jits->next_ns) {
        return;
    }
    jits->next_ns = UINT64_MAX;
    for (size_t i = 0; i < set->count; i++) {
        if (set->images[i]->kind == IMAGE_ANONYMOUS) {
            jit_find_map(&set->images[i]->jit, set->images[i]->pid, now_ns);
        }
    }
}

/* On some file systems the device of a mapping is not the st_dev of its file, so that
 * of the opened file decides. */
bool
image_is_file(const struct image *image, uint64_t device, uint64_t inode)
{
    return image->kind == IMAGE_FILE && image->inode == inode &&
           (image->opened
                ? image->opened_device
                : makedev(image->device_major, image->device_minor)) == device;
}

struct image *
image_set_kernel(struct image_set *set, enum image_kind kind)
{
    const struct image wanted = image_wanted(kind, "[kernel]");
    bool added;

    return image_set_get(set, &wanted, &added);
}

/* --- segments --- */

/* Return the size in bytes of the counters of one source for length bytes of code. */
static uint64_t
segment_counter_bytes(uint64_t length, uint32_t log2)
{
    return ((length - 1) / (UINT64_C(1) << log2) + 1) * sizeof(ULONG);
}

/* Make a segment with all counters 0. Its buckets are larger than usual if the counters
 * would otherwise exceed segment_bytes_max. Returns NULL if memory runs out. */
static struct image_segment *
segment_new(const struct image_set *set, const struct image *image, uint64_t begin,
            uint64_t length, uint32_t program)
{
    struct image_segment *const segment =
        calloc(1, sizeof(*segment) + set->source_count * sizeof(segment->counters[0]));

    if (segment == NULL) {
        return NULL;
    }
    segment->program = program;
    segment->log2 =
        image->kind == IMAGE_KERNEL_MAP ? kernel_map_log2 : set->bucket_log2;
    segment->begin = begin;
    segment->length = length;
    while (segment_counter_bytes(length, segment->log2) > segment_bytes_max) {
        segment->log2++;
    }
    segment->bytes = (size_t)segment_counter_bytes(length, segment->log2);
    for (size_t i = 0; i < set->source_count; i++) {
        segment->counters[i] = ntprof_buffer_alloc(segment->bytes);
        if (segment->counters[i] == NULL) {
            segment_delete(set, segment);
            return NULL;
        }
    }
    return segment;
}

/* Whether the segment covers the range for a program, and one of its buckets starts at
 * begin. */
static bool
segment_covers(const struct image_segment *segment, uint64_t begin, uint64_t length,
               uint32_t program)
{
    return segment->program == program && begin >= segment->begin &&
           begin - segment->begin <= segment->length &&
           length <= segment->length - (begin - segment->begin) &&
           (begin - segment->begin) % (UINT64_C(1) << segment->log2) == 0;
}

/* Most programs map an image once, the others in the same order each time. So
 * the segment that was found last for the program is tried first, then the one
 * behind it, then all. */
struct image_segment *
image_segment_look_up(struct image *image, uint64_t begin, uint64_t length,
                      uint32_t program)
{
    struct image_segment **const recent = &image->recent[program % IMAGE_RECENT];
    struct image_segment *segment = *recent;

    if (segment != NULL && !segment_covers(segment, begin, length, program)) {
        segment = segment->next;
    }
    if (segment == NULL || !segment_covers(segment, begin, length, program)) {
        segment = image->segments;
        while (segment != NULL && !segment_covers(segment, begin, length, program)) {
            segment = segment->next;
        }
    }
    if (segment != NULL) {
        *recent = segment;
    }
    return segment;
}

struct image_segment *
image_segment_find(struct image_set *set, struct image *image, uint64_t begin,
                   uint64_t length, uint32_t program)
{
    struct image_segment **const recent = &image->recent[program % IMAGE_RECENT];
    /* A new one comes behind the one found last, so that the list has the order of
     * mappings, in which it is searched. */
    struct image_segment **const next =
        *recent != NULL ? &(*recent)->next : &image->segments;
    struct image_segment *segment =
        image_segment_look_up(image, begin, length, program);

    if (segment != NULL) {
        return segment;
    }
    if (set->full) {
        set->refused++;
        return NULL;
    }
    segment = segment_new(set, image, begin, length, program);
    if (segment != NULL) {
        set->segments_made++;
        segment->next = *next;
        *next = segment;
        *recent = segment;
    }
    return segment;
}

/* --- folding --- */

/* Move the hits of the counter with index at to the image's fresh counts, or drop them
 * if set->discarding. Room for an entry is made before the counter is reset, so no hit
 * is lost. Returns false if memory runs out. */
static bool
fold_counter(struct image_set *set, struct image *image,
             const struct image_segment *segment, uint32_t source, size_t at)
{
    ULONG *const counter = &segment->counters[source][at];
    struct count count = {
        .place = image_counter_place(image, segment, at),
        .program = segment->program,
        .source = source,
    };

    if (set->discarding) {
        set->folded += __atomic_exchange_n(counter, 0, __ATOMIC_RELAXED);
        return true;
    }
    if (!counts_make_room(&image->fresh)) {
        return false;
    }
    count.hits = __atomic_exchange_n(counter, 0, __ATOMIC_RELAXED);
    counts_add(&image->fresh, &count);
    set->folded += count.hits;
    return true;
}

/* Whether a counter and the next one are both 0, as most are: one load instead of two.
 */
static bool
is_pair_zero(const ULONG *counter)
{
    typedef uint64_t __attribute__((may_alias)) pair;

    return __atomic_load_n((const pair *)(const void *)counter, __ATOMIC_RELAXED) == 0;
}

/* Fold the counters of one source into the image's fresh counts: those in bytes
 * [at, end) of the segment's buffer. Returns false if memory runs out; counters that
 * were not folded keep their hits. */
static bool
fold_counters(struct image_set *set, struct image *image,
              const struct image_segment *segment, uint32_t source, size_t at,
              size_t end)
{
    const ULONG *const counters = segment->counters[source];
    const size_t count = end / sizeof(ULONG);
    bool complete = true;
    size_t i = at / sizeof(ULONG);

    while (i < count) {
        if (i % 2 == 0 && i + 1 < count && is_pair_zero(&counters[i])) {
            i += 2;
            continue;
        }
        if (__atomic_load_n(&counters[i], __ATOMIC_RELAXED) != 0) {
            complete = fold_counter(set, image, segment, source, i) && complete;
        }
        i++;
    }
    return complete;
}

/* Call fold_counters for each page of the buffer in [at, end) that may have hits.
 * Reading another page would allocate it. Returns false if memory runs out. */
static bool
fold_hit_pages(struct image_set *set, struct image *image,
               const struct image_segment *segment, uint32_t source, size_t at,
               size_t end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const ULONG *const counters = segment->counters[source];
    bool complete = true;

    at = ntprof_buffer_next(counters, end, at);
    while (at < end) {
        const size_t next = end - at < page ? end : at + page;

        complete = fold_counters(set, image, segment, source, at, next) && complete;
        at = ntprof_buffer_next(counters, end, next);
    }
    return complete;
}

/*
 * Whether a bucket of the kernel map was ever hit. Each hit is counted in the kernel
 * map first and then in the kernel's own counters. So a fold may see it in the map
 * only, and the next fold has to look there again: the bucket is never reset to 0. Nor
 * may it wrap to 0, so a large count is replaced by 1.
 */
static bool
map_bucket_was_hit(ULONG *bucket)
{
    const ULONG hits = __atomic_load_n(bucket, __ATOMIC_RELAXED);

    if (hits > INT32_MAX) {
        __atomic_store_n(bucket, 1, __ATOMIC_RELAXED);
    }
    return hits != 0;
}

/* Fold the kernel's counters in segment, except those parts for which the kernel map
 * has no hits. Returns false if memory runs out. */
static bool
fold_mapped(struct image_set *set, struct image *image,
            const struct image_segment *segment, uint32_t source,
            const struct image_segment *map)
{
    const uint32_t shift = map->log2 - segment->log2;
    /* kernel counters for each bucket of the map */
    const size_t bytes = sizeof(ULONG) << shift;
    bool complete = true;

    for (size_t i = 0; i < map->bytes / sizeof(ULONG); i++) {
        const size_t at = i * bytes;

        if (map_bucket_was_hit(&map->counters[source][i])) {
            complete = fold_hit_pages(set, image, segment, source, at,
                                      segment->bytes - at < bytes ? segment->bytes
                                                                  : at + bytes) &&
                       complete;
        }
    }
    return complete;
}

/* Return the segment of the kernel map that covers the range of a segment of
 * the kernel for the same program. Returns NULL if the image is not the
 * kernel's, or there is none. */
static const struct image_segment *
find_kernel_map(struct image_set *set, const struct image *image,
                const struct image_segment *segment)
{
    const struct image *const map =
        image->kind == IMAGE_KERNEL ? image_set_kernel(set, IMAGE_KERNEL_MAP) : NULL;
    const struct image_segment *found = map != NULL ? map->segments : NULL;

    while (found != NULL &&
           (found->program != segment->program || found->begin != segment->begin ||
            found->length != segment->length)) {
        found = found->next;
    }
    return found;
}

/* Fold the counters of one source in a segment: with a kernel map only the parts where
 * the map has hits, else all pages with hits. Returns false if memory runs out. */
static bool
fold_segment(struct image_set *set, struct image *image,
             const struct image_segment *segment, uint32_t source)
{
    const struct image_segment *const map = find_kernel_map(set, image, segment);

    return map != NULL ? fold_mapped(set, image, segment, source, map)
                       : fold_hit_pages(set, image, segment, source, 0, segment->bytes);
}

bool
image_fold(struct image_set *set, struct image *image, uint32_t source)
{
    bool complete = true;

    if (image->kind == IMAGE_KERNEL_MAP) {
        return true;
    }
    for (const struct image_segment *segment = image->segments; segment != NULL;
         segment = segment->next) {
        complete = fold_segment(set, image, segment, source) && complete;
    }
    return complete;
}

bool
image_take(struct image *image)
{
    if (image->kind == IMAGE_ANONYMOUS) {
        jit_take(&image->jit, &image->taken_jit);
    }
    if (image->fd >= 0) {
        image->taken_fd = image->fd;
        image->taken_root = image->root;
        image->fd = -1;
    }
    return image->fresh.count == 0 || counts_move(&image->fresh, &image->taken);
}

/* --- hits, and what goes --- */

bool
image_total(struct image *image)
{
    if (image->taken.count != 0 && !counts_move(&image->taken, &image->totals)) {
        return false;
    }
    counts_merge(&image->totals);
    return true;
}

bool
image_keep(struct image *image)
{
    return counts_collect(&image->taken, &image->totals);
}

bool
image_fold_unused(struct image_set *set, struct image *image)
{
    bool complete = true;

    if (image->users != 0 || image->kind == IMAGE_KERNEL ||
        image->kind == IMAGE_KERNEL_MAP) {
        return false;
    }
    for (size_t i = 0; i < set->source_count; i++) {
        complete = image_fold(set, image, (uint32_t)i) && complete;
    }
    return complete && image->fresh.count == 0 && image->taken.count == 0;
}

/* Fold the counters of a segment for each source. Returns false if memory runs out. */
static bool
fold_all_sources(struct image_set *set, struct image *image,
                 const struct image_segment *segment)
{
    bool complete = true;

    for (size_t i = 0; i < set->source_count; i++) {
        complete = fold_segment(set, image, segment, (uint32_t)i) && complete;
    }
    return complete;
}

bool
image_drop_program(struct image_set *set, struct image *image, uint32_t program)
{
    struct image_segment **next = &image->segments;
    bool complete = true;

    while (*next != NULL) {
        struct image_segment *const segment = *next;

        if (segment->program == program && fold_all_sources(set, image, segment)) {
            *next = segment->next;
            segment_delete(set, segment);
            /* One of these may be that segment. */
            memset(image->recent, 0, sizeof(image->recent));
        } else {
            complete = complete && segment->program != program;
            next = &segment->next;
        }
    }
    return complete;
}

/* Whether an image of the set searches this root directory for its debug files. */
static bool
uses_root(const struct image_set *set, int fd)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->images[i]->root == fd || set->images[i]->taken_root == fd) {
            return true;
        }
    }
    return false;
}

/* Whether this folder is the /tmp where an image of the set has its perf map. */
static bool
uses_folder(const struct image_set *set, int fd)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->images[i]->jit.target.folder == fd ||
            set->images[i]->taken_jit.target.folder == fd) {
            return true;
        }
    }
    return false;
}

void
image_set_tidy(struct image_set *set)
{
    hash_index_clear(&set->index);
    for (size_t i = 0; i < set->count; i++) {
        (void)hash_index_add(&set->index, image_hash(set->images[i]), (uint32_t)i);
    }
    for (size_t i = set->roots.count; i > 0; i--) {
        if (!uses_root(set, set->roots.items[i - 1].fd)) {
            roots_remove(&set->roots, i - 1);
        }
    }
    for (size_t i = set->jits.folders.count; i > 0; i--) {
        if (!uses_folder(set, set->jits.folders.items[i - 1].fd)) {
            roots_remove(&set->jits.folders, i - 1);
        }
    }
}
