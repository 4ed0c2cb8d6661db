/* SPDX-License-Identifier: MIT */
/*
 * image.h - the images of a recording, and the counters of each.
 *
 * All mappings of one part of an image by processes of one name share their counters.
 * So memory is bounded by the code that was hit, and does not grow with time or with
 * the number of processes.
 *
 * A fold moves hits from the 32-bit counters of segments to fresh; from there they move
 * to taken and then to totals. Deliveries may change everything except taken_fd, taken
 * and totals, which only the thread that makes snapshots uses.
 */
#ifndef COLLECT_IMAGE_H
#define COLLECT_IMAGE_H

#include "collect/counts.h"
#include "collect/roots.h"
#include "util/hash_index.h"

#include <ntprof/ntprof.h>
#include <stdbool.h>
#include <stdint.h>

enum image_kind {
    IMAGE_FILE, /* a place is a file offset */
    IMAGE_VDSO, /* a place is an offset in the vdso */
    /* code of one process without a file, such as a JIT's; a place is an address */
    IMAGE_ANONYMOUS,
    IMAGE_KERNEL, /* a place is an address */
    /* the kernel once more, in large buckets: a fold of IMAGE_KERNEL looks only at the
     * counters where this one has hits */
    IMAGE_KERNEL_MAP
};

/* image_segment - counters of [begin, begin + length) for processes of one name. */
struct image_segment {
    struct image_segment *next;
    /* number of the program, or of the program on a processor (collector.c) */
    uint32_t program;
    uint32_t log2;  /* of the bucket size in bytes */
    uint64_t begin; /* a place; a multiple of the bucket size */
    uint64_t length;
    size_t bytes;      /* size of the counters of one source */
    ULONG *counters[]; /* one buffer for each source */
};

struct image {
    enum image_kind kind;
    char *path;
    /* of IMAGE_ANONYMOUS; 0: of all processes beyond IMAGE_SET_ANONYMOUS_MAX */
    uint32_t pid;
    uint32_t device_major;
    uint32_t device_minor;
    uint64_t inode;
    /* as notified; 0: unknown, as for mappings from before the watch */
    uint64_t inode_generation;
    uint64_t read_generation; /* of the opened file; 0: unknown */
    int fd;                   /* the mapped file, checked by its inode; or -1 */
    int taken_fd; /* fd once a snapshot has taken it; deliveries do not use it */
    int root; /* in set->roots, to search for debug files; -1: only in our own root */
    int taken_root;         /* belongs to taken_fd */
    bool opened;            /* fd was open once */
    uint64_t opened_device; /* st_dev of fd; valid once opened is set */
    uint32_t misses;        /* failed attempts to open it */
    /* number of mappings that count in it; the collector maintains it */
    uint64_t users;
    bool replaced; /* another file now has its name */
    struct image_segment *segments;
    struct image_segment *recent; /* the last one found; a search starts after it */
    struct counts fresh;          /* folded hits */
    struct counts taken;          /* out of reach of deliveries, not merged yet */
    struct counts totals;         /* merged */
};

struct image_set {
    struct image **images;
    size_t count;
    size_t capacity;
    struct hash_index index;
    size_t source_count;
    uint32_t bucket_log2;
    size_t anonymous; /* images of this kind */
    struct roots roots;
    size_t files_open; /* number of images with opened set */
    size_t files_max;  /* no more are opened, since profiling needs descriptors too */
    uint64_t unopened; /* images without names because of files_max */
    bool full;         /* memory_max is exceeded: no more counters are made */
    uint64_t made;     /* number of segments made so far */
    bool discarding;   /* folds drop hits: counting is paused */
    /* requests for counters or images that were refused because of full */
    uint64_t refused;
};

enum {
    /* Maximum number of different images; mappings of more are counted as failures. */
    IMAGE_SET_MAX = 65536,
    /* Maximum number of processes whose anonymous code is separate; that of all others
     * is one image and row. */
    IMAGE_SET_ANONYMOUS_MAX = 4096,
};

/* Initialise a set. Call it after the session was opened, which raises the limit of
 * descriptors. */
void image_set_init(struct image_set *set, size_t source_count, uint32_t bucket_log2);
void image_set_finish(struct image_set *set);

/* Processes through which a file is searched for: the one that maps it, and
 * ancestors. */
enum { IMAGE_ROOTS_MAX = 4 };

/*
 * Find or add the image of an NTPROF_IMAGE_MAP. The file of a new one is opened at
 * once, because the process may exit soon. Returns NULL if memory runs out, the memory
 * limit is exceeded (set->full), or there are IMAGE_SET_MAX images.
 *
 *   ancestors  pids of the parent, of its parent and so on: they usually have the same
 *              root directory and may still be running after the process has exited
 *   count      at most IMAGE_ROOTS_MAX - 1
 */
struct image *image_set_find(struct image_set *set, const ntprof_notification *map,
                             const uint32_t *ancestors, size_t count);

/* Return whether the image is the file with this st_dev and st_ino. */
bool image_is_file(const struct image *image, uint64_t device, uint64_t inode);

/* Find or add IMAGE_KERNEL or IMAGE_KERNEL_MAP. Returns NULL if memory runs out. */
struct image *image_set_kernel(struct image_set *set, enum image_kind kind);

/* Find or make counters that cover the whole range for a program. Returns NULL if
 * memory runs out or set->full is set. */
struct image_segment *image_segment_find(struct image_set *set, struct image *image,
                                         uint64_t begin, uint64_t length,
                                         uint32_t program);

/* Return the first counter of a place in the segment; place is a multiple of the
 * bucket. */
ULONG *image_segment_counter(const struct image_segment *segment, size_t source,
                             uint64_t place);

/*
 * Add the counters of an image for one source to fresh, or with set->discarding to
 * nothing, and reset them. Each hit is in exactly one of both, even if it arrives
 * during the call. Returns false if memory runs out; what was not added stays in the
 * counters.
 */
bool image_fold(struct image_set *set, struct image *image, uint32_t source);

/* Free the segments of an image. No started profile may use their counters. */
void image_release(struct image_set *set, struct image *image);

/* Whether no mapping counts in the image, and all its hits were taken and freed. Folds
 * its counters, so no delivery may run during the call. */
bool image_is_unused(struct image_set *set, struct image *image);

/* Free an image that is unused. It must be removed from set->images. */
void image_delete(struct image_set *set, struct image *image);

/* Fold and free the counters of a program without processes. Returns false if memory
 * runs out; those that were not folded stay. */
bool image_drop_program(struct image_set *set, struct image *image, uint32_t program);

/* Update what depends on the list of images, after some were removed: the index, and
 * the root directories that are kept open. If memory runs out, the images that are not
 * in the index are made again for new mappings. */
void image_set_tidy(struct image_set *set);

/* Move the image's fresh counts to taken, and fd to taken_fd. No delivery may run
 * during the call. Returns false if memory runs out; then nothing has changed. */
bool image_take(struct image *image);

/* Merge taken into totals. Returns false if memory runs out; no hit is lost then. */
bool image_total(struct image *image);

/* Move taken to totals, at a cost that depends only on taken; image_total merges later.
 * Returns false if memory runs out; no hit is lost then. */
bool image_keep(struct image *image);

#endif
