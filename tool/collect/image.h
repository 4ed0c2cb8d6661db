/* SPDX-License-Identifier: MIT */
/*
 * image.h - the images that a recording came across, and the counters of each.
 *
 * All mappings of one part of an image by processes of one name share the counters, so
 * that memory is bounded by the text that was hit, whatever the run time and the number
 * of processes.
 *
 * Hits go from counters of 32 bits (segments) to fresh at each fold, from there to
 * taken and to totals. Deliveries may change all but taken_fd, taken and totals, which
 * are their reader's alone.
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
    IMAGE_FILE,      /* places are file offsets */
    IMAGE_VDSO,      /* places are offsets in it */
    IMAGE_ANONYMOUS, /* JIT code and the like of one process; places are addresses */
    IMAGE_KERNEL,    /* places are addresses */
    /* the same in large buckets: where in its 2 GB to look for counts */
    IMAGE_KERNEL_MAP
};

/* image_segment - counters for [begin, begin + length), hit by processes of one name.
 */
struct image_segment {
    struct image_segment *next;
    /* whose: a program's number, or one of a program on a processor */
    uint32_t program;
    uint32_t log2;  /* of the bucket's bytes */
    uint64_t begin; /* place, a multiple of the bucket */
    uint64_t length;
    size_t bytes;      /* of the counters of one source */
    ULONG *counters[]; /* one buffer a source */
};

struct image {
    enum image_kind kind;
    char *path;
    uint32_t pid; /* IMAGE_ANONYMOUS */
    uint32_t device_major;
    uint32_t device_minor;
    uint64_t inode;
    uint64_t
        /* as told; 0: not told, as of what was mapped before the watch */
        inode_generation;
    uint64_t read_generation; /* of the opened file; 0: not known */
    int fd;                   /* the mapped file, checked by inode; -1 */
    int taken_fd; /* the same, out of deliveries' reach, for whoever names the image */
    int root;     /* where its debug files may be, in roots; -1: our own root alone */
    int taken_root;  /* goes with taken_fd */
    bool opened;     /* fd was once */
    uint32_t misses; /* times that it could not be opened */
    uint64_t users;  /* mappings that count in it: the collector's */
    bool replaced;   /* another file has its name now */
    struct image_segment *segments;
    struct image_segment
        *recent; /* the last one asked for; those of one mapping follow each other */
    struct counts fresh;  /* folded */
    struct counts taken;  /* out of deliveries' reach, not merged yet */
    struct counts totals; /* merged */
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
    size_t files_open; /* images with opened set */
    size_t files_max;  /* no more are opened: profiling needs descriptors too */
    uint64_t unopened; /* images that were left without names for that */
    bool full;         /* memory is short: no counters are made any more */
    uint64_t made;     /* segments so far */
    uint64_t refused;  /* times that counters or an image were not made, being full */
};

enum {
    /* Images that are told apart; mappings of more are not profiled, which is counted.
     */
    IMAGE_SET_MAX = 65536,
    /* Processes whose JIT code is told apart; that of more is one image and one row. */
    IMAGE_SET_ANONYMOUS_MAX = 4096,
};

/* After the session was opened, which asks for as many descriptors as there may be. */
void image_set_init(struct image_set *set, size_t source_count, uint32_t bucket_log2);
void image_set_finish(struct image_set *set);

/* Processes through which a file is looked for: the one that maps it, and some of those
 * before it. */
enum { IMAGE_ROOTS_MAX = 4 };

/*
 * The image of a NTPROF_IMAGE_MAP, opened if it is new while its process may still
 * live. NULL: out of memory, full, or too many images.
 *
 *   forebears  pids of its parent, that one's parent and so on: their root directory is
 *              its own, most often, and they are there when it has gone already
 *   count      at most IMAGE_ROOTS_MAX - 1
 */
struct image *image_set_find(struct image_set *set, const ntprof_notification *map,
                             const uint32_t *forebears, size_t count);

/* IMAGE_KERNEL or IMAGE_KERNEL_MAP. NULL: out of memory. */
struct image *image_set_kernel(struct image_set *set, enum image_kind kind);

/* Counters that cover all of the range for a program. NULL: out of memory, or full. */
struct image_segment *image_segment_find(struct image_set *set, struct image *image,
                                         uint64_t begin, uint64_t length,
                                         uint32_t program);

/* First counter of a place of a segment; the place is a multiple of the bucket. */
ULONG *image_segment_counter(const struct image_segment *segment, size_t source,
                             uint64_t place);

/*
 * Takes what the segments of an image counted for a source over into fresh, and leaves
 * them counting from 0: each hit is in one of both, also one that comes meanwhile.
 * False: out of memory; what was not taken over stays where it is.
 */
bool image_fold(struct image_set *set, struct image *image, uint32_t source);

/* Gives the segments back, which nobody counts in any more. */
void image_release(struct image_set *set, struct image *image);

/* Moves fresh and fd to taken and taken_fd. With deliveries kept out. False: out of
 * memory, nothing has changed. */
bool image_take(struct image *image);

/* Merges taken into totals. False: out of memory, nothing is lost. */
bool image_total(struct image *image);

/* Moves taken to totals, at a cost that follows taken alone: totals are merged by
 * image_total. False: out of memory, nothing is lost. */
bool image_keep(struct image *image);

#endif
