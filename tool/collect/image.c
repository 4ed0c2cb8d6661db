/* SPDX-License-Identifier: MIT */
/* image.c - images, and the counters of each. */
#include "collect/image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Buckets of the kernel's map: 2 MB, so that one page of counters has 2 GB. */
static const uint32_t kernel_map_log2 = 21;

/* Counters of one segment and source: what is more gets larger buckets. */
static const uint64_t segment_bytes_max = UINT64_C(1) << 31;

void
image_set_init(struct image_set *set, size_t source_count, uint32_t bucket_log2)
{
    *set = (struct image_set){.source_count = source_count, .bucket_log2 = bucket_log2};
}

static void
segment_delete(const struct image_set *set, struct image_segment *segment)
{
    for (size_t i = 0; i < set->source_count; i++) {
        ntprof_buffer_free(segment->counters[i], segment->bytes);
    }
    free(segment);
}

static void
image_free_segments(const struct image_set *set, struct image *image)
{
    while (image->segments != NULL) {
        struct image_segment *const segment = image->segments;

        image->segments = segment->next;
        segment_delete(set, segment);
    }
}

void
image_set_finish(struct image_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct image *const image = set->images[i];

        image_free_segments(set, image);
        if (image->fd >= 0) {
            close(image->fd);
        }
        free(image->counts);
        free(image->path);
        free(image);
    }
    free(set->images);
    hash_index_finish(&set->index);
}

/* Opens path if it is the mapped inode. With any_device, the number of the device need not agree:
 * on some file systems (overlay, btrfs) stat() tells another one than the mapping. */
static int
open_mapped(const char *path, const struct image *image, bool any_device)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0) {
        return -1;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == image->inode &&
        (any_device || (major(st.st_dev) == image->device_major &&
                        minor(st.st_dev) == image->device_minor))) {
        return fd;
    }
    close(fd);
    return -1;
}

/* The file behind the mapping itself, else its name in the process's root, else in ours. */
static void
image_open(struct image *image, const ntprof_notification *map)
{
    char *names[3] = {NULL, NULL, NULL};

    if (asprintf(&names[0], "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
                 map->pid, map->base, map->base + map->length) < 0) {
        names[0] = NULL;
    }
    if (asprintf(&names[1], "/proc/%" PRIu32 "/root%s", map->pid, map->name) < 0) {
        names[1] = NULL;
    }
    names[2] = strdup(map->name);
    for (int any_device = 0; any_device < 2; any_device++) {
        for (size_t i = 0; image->fd < 0 && i < 3; i++) {
            if (names[i] != NULL) {
                image->fd = open_mapped(names[i], image, any_device != 0);
            }
        }
    }
    image->replaced = image->fd < 0 && names[2] != NULL && access(names[2], F_OK) == 0;
    for (size_t i = 0; i < 3; i++) {
        free(names[i]);
    }
}

static bool
image_equal(const struct image *a, const struct image *b)
{
    return a->kind == b->kind && a->pid == b->pid &&
           a->device_major == b->device_major && a->device_minor == b->device_minor &&
           a->inode == b->inode && a->inode_generation == b->inode_generation &&
           strcmp(a->path, b->path) == 0;
}

static uint32_t
image_hash(const struct image *image)
{
    uint32_t hash = hash_bytes(image->path, strlen(image->path));

    hash = hash_mix(hash, image->inode);
    return hash_mix(hash, (uint64_t)image->pid << 8 | (uint64_t)image->kind);
}

/* Adds a copy of wanted; its path is taken over. */
static struct image *
image_set_add(struct image_set *set, const struct image *wanted, uint32_t hash)
{
    struct image *const image = malloc(sizeof(*image));

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
    set->images[set->count++] = image;
    return image;
}

/* The image equal to wanted, whose path is copied if it is new. *added tells. */
static struct image *
image_set_get(struct image_set *set, const struct image *wanted, bool *added)
{
    const uint32_t hash = image_hash(wanted);
    struct image copy = *wanted;
    struct image *image;
    size_t probe = 0;

    *added = false;
    for (uint32_t at = hash_index_find(&set->index, hash, &probe);
         at != HASH_INDEX_NONE; at = hash_index_find(&set->index, hash, &probe)) {
        if (image_equal(set->images[at], wanted)) {
            return set->images[at];
        }
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

/* Shared memory without a file has an inode and a name all the same; JITs put code there. */
static bool
is_anonymous(const ntprof_notification *map)
{
    return (map->image_flags & NTPROF_IMAGE_ANONYMOUS) != 0 ||
           strcmp(map->name, "/dev/zero (deleted)") == 0 ||
           strcmp(map->name, "/anon_hugepage (deleted)") == 0 ||
           strncmp(map->name, "/SYSV", strlen("/SYSV")) == 0;
}

struct image *
image_set_find(struct image_set *set, const ntprof_notification *map)
{
    struct image wanted = {.fd = -1};
    struct image *image;
    char anonymous[32];
    bool added;

    if (strcmp(map->name, "[vdso]") == 0) {
        /* That of 32-bit programs is another one, of which we have no copy to read. */
        wanted.kind = IMAGE_VDSO;
        wanted.path = (char *)(map->base > UINT32_MAX ? "[vdso]" : "[vdso32]");
    } else if (is_anonymous(map)) {
        snprintf(anonymous, sizeof(anonymous), "[anon:%" PRIu32 "]", map->pid);
        wanted.kind = IMAGE_ANONYMOUS;
        wanted.pid = map->pid;
        wanted.path = anonymous;
    } else {
        wanted.kind = IMAGE_FILE;
        wanted.path = (char *)map->name;
        wanted.device_major = map->device_major;
        wanted.device_minor = map->device_minor;
        wanted.inode = map->inode;
        wanted.inode_generation = map->inode_generation;
    }
    image = image_set_get(set, &wanted, &added);
    if (image != NULL && added && image->kind == IMAGE_FILE) {
        image_open(image, map);
    }
    return image;
}

struct image *
image_set_kernel(struct image_set *set, enum image_kind kind)
{
    const struct image wanted = {.kind = kind, .path = (char *)"[kernel]", .fd = -1};
    bool added;

    return image_set_get(set, &wanted, &added);
}

static uint64_t
segment_counter_bytes(uint64_t length, uint32_t log2)
{
    return ((length - 1) / (UINT64_C(1) << log2) + 1) * sizeof(ULONG);
}

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

struct image_segment *
image_segment_find(const struct image_set *set, struct image *image, uint64_t begin,
                   uint64_t length, uint32_t program)
{
    struct image_segment *segment = image->segments;

    while (segment != NULL &&
           (segment->program != program || begin < segment->begin ||
            begin - segment->begin > segment->length ||
            length > segment->length - (begin - segment->begin) ||
            (begin - segment->begin) % (UINT64_C(1) << segment->log2) != 0)) {
        segment = segment->next;
    }
    if (segment == NULL) {
        segment = segment_new(set, image, begin, length, program);
        if (segment != NULL) {
            segment->next = image->segments;
            image->segments = segment;
        }
    }
    return segment;
}

ULONG *
image_segment_counter(const struct image_segment *segment, size_t source,
                      uint64_t place)
{
    return segment->counters[source] + ((place - segment->begin) >> segment->log2);
}

static int
compare_counts(const void *left, const void *right)
{
    const struct image_count *const a = left;
    const struct image_count *const b = right;

    if (a->place != b->place) {
        return a->place < b->place ? -1 : 1;
    }
    if (a->program != b->program) {
        return a->program < b->program ? -1 : 1;
    }
    return a->source < b->source ? -1 : a->source > b->source;
}

void
image_merge_counts(struct image *image)
{
    size_t kept = 0;

    if (image->count == 0) {
        return;
    }
    qsort(image->counts, image->count, sizeof(*image->counts), compare_counts);
    for (size_t i = 1; i < image->count; i++) {
        if (compare_counts(&image->counts[kept], &image->counts[i]) == 0) {
            image->counts[kept].hits += image->counts[i].hits;
        } else {
            image->counts[++kept] = image->counts[i];
        }
    }
    image->count = kept + 1;
    image->merged = image->count;
}

static bool
image_add_count(struct image *image, const struct image_count *count)
{
    /* What comes and goes often, such as JIT code, meets the same buckets again. */
    if (image->count == image->capacity && image->merged < image->count / 2) {
        image_merge_counts(image);
    }
    if (image->count == image->capacity) {
        const size_t capacity = image->capacity == 0 ? 256 : image->capacity * 2;
        struct image_count *const counts =
            reallocarray(image->counts, capacity, sizeof(*counts));

        if (counts == NULL) {
            return false;
        }
        image->counts = counts;
        image->capacity = capacity;
    }
    image->counts[image->count++] = *count;
    return true;
}

/* Takes over the counters of one source from byte at up to end. */
static bool
fold_range(struct image *image, const struct image_segment *segment, uint32_t source,
           size_t at, size_t end)
{
    const ULONG *const counters = segment->counters[source];

    for (size_t i = at / sizeof(ULONG); i < end / sizeof(ULONG); i++) {
        const struct image_count count = {
            .place = segment->begin + ((uint64_t)i << segment->log2),
            .hits = __atomic_load_n(&counters[i], __ATOMIC_RELAXED),
            .program = segment->program,
            .source = source,
        };

        if (count.hits != 0 && !image_add_count(image, &count)) {
            return false;
        }
    }
    return true;
}

/* Takes over the counters of one source from byte at up to end. Only pages that hold
 * counts are looked at: reading the others would make them. */
static bool
fold_used(struct image *image, const struct image_segment *segment, uint32_t source,
          size_t at, size_t end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const ULONG *const counters = segment->counters[source];

    at = ntprof_buffer_next(counters, end, at);
    while (at < end) {
        const size_t next = end - at < page ? end : at + page;

        if (!fold_range(image, segment, source, at, next)) {
            return false;
        }
        at = ntprof_buffer_next(counters, end, next);
    }
    return true;
}

/* The kernel's counters: where its map says that there are any. */
static bool
fold_mapped(struct image *image, const struct image_segment *segment, uint32_t source,
            const struct image_segment *map)
{
    const uint32_t shift = map->log2 - segment->log2;
    const size_t bytes = sizeof(ULONG)
                         << shift; /* of counters for a bucket of the map */

    for (size_t i = 0; i < map->bytes / sizeof(ULONG); i++) {
        const size_t at = i * bytes;

        if (__atomic_load_n(&map->counters[source][i], __ATOMIC_RELAXED) != 0 &&
            !fold_used(image, segment, source, at,
                       segment->bytes - at < bytes ? segment->bytes : at + bytes)) {
            return false;
        }
    }
    return true;
}

/* The segment of the kernel's map that belongs to one of the kernel's; NULL if it has none. */
static const struct image_segment *
find_map(struct image_set *set, const struct image *image,
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

bool
image_fold(struct image_set *set, struct image *image)
{
    bool complete = true;

    if (image->kind == IMAGE_KERNEL_MAP) {
        return true;
    }
    for (const struct image_segment *segment = image->segments; segment != NULL;
         segment = segment->next) {
        const struct image_segment *const map = find_map(set, image, segment);

        for (uint32_t i = 0; i < set->source_count; i++) {
            const bool folded = map != NULL
                                    ? fold_mapped(image, segment, i, map)
                                    : fold_used(image, segment, i, 0, segment->bytes);

            complete = folded && complete;
        }
    }
    image_free_segments(set, image);
    return complete;
}
