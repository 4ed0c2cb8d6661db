/* SPDX-License-Identifier: MIT */
/*
 * image.h - the images that a run came across, and the counters of each.
 *
 * All mappings of one part of an image by processes of one name share the counters, so that memory
 * is bounded by the text that was hit, whatever the run time and the number of processes.
 */
#ifndef COLLECT_IMAGE_H
#define COLLECT_IMAGE_H

#include "util/hash_index.h"

#include <ntprof/ntprof.h>
#include <stdbool.h>
#include <stdint.h>

enum image_kind {
    IMAGE_FILE,      /* places are file offsets */
    IMAGE_VDSO,      /* places are offsets in it */
    IMAGE_ANONYMOUS, /* JIT code and the like of one process; places are addresses */
    IMAGE_KERNEL,    /* places are addresses */
    IMAGE_KERNEL_MAP /* the same in large buckets: where in its 2 GB to look for counts */
};

/* image_segment - counters for [begin, begin + length), hit by processes of one name. */
struct image_segment {
    struct image_segment *next;
    uint32_t program; /* index into the profile's processes */
    uint32_t log2;    /* of the bucket's bytes */
    uint64_t begin;   /* place, a multiple of the bucket */
    uint64_t length;
    size_t bytes;      /* of the counters of one source */
    ULONG *counters[]; /* one buffer a source */
};

/* image_count - hits of one bucket by processes of one name, taken over from a segment. */
struct image_count {
    uint64_t place;
    uint64_t hits;
    uint32_t program;
    uint32_t source;
};

struct image {
    enum image_kind kind;
    char *path;
    uint32_t pid; /* IMAGE_ANONYMOUS */
    uint32_t device_major;
    uint32_t device_minor;
    uint64_t inode;
    uint64_t inode_generation;
    int fd;        /* the mapped file, checked by inode; -1 */
    bool replaced; /* another file has its name now */
    struct image_segment *segments;
    struct image_count *counts; /* sorted, each bucket once, up to merged */
    size_t count;
    size_t capacity;
    size_t merged;
};

struct image_set {
    struct image **images;
    size_t count;
    size_t capacity;
    struct hash_index index;
    size_t source_count;
    uint32_t bucket_log2;
};

void image_set_init(struct image_set *set, size_t source_count, uint32_t bucket_log2);
void image_set_finish(struct image_set *set);

/* The image of a NTPROF_IMAGE_MAP, opened if it is new while its process may still live. NULL: out
 * of memory. */
struct image *image_set_find(struct image_set *set, const ntprof_notification *map);

/* IMAGE_KERNEL or IMAGE_KERNEL_MAP. NULL: out of memory. */
struct image *image_set_kernel(struct image_set *set, enum image_kind kind);

/* Counters that cover all of the range for a program. NULL: out of memory. */
struct image_segment *image_segment_find(const struct image_set *set,
                                         struct image *image, uint64_t begin,
                                         uint64_t length, uint32_t program);

/* First counter of a place of a segment; the place is a multiple of the bucket. */
ULONG *image_segment_counter(const struct image_segment *segment, size_t source,
                             uint64_t place);

/* Takes what the segments of an image counted over into its counts, and gives the segments back.
 * False: out of memory. */
bool image_fold(struct image_set *set, struct image *image);

/* Sorts the counts of an image by place, program and source, each bucket once. */
void image_merge_counts(struct image *image);

#endif
