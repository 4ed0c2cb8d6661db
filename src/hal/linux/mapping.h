/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/mapping.h - the executable mappings of a process, sorted by base and
 * disjoint, each with a shared image.
 */
#ifndef HAL_LINUX_MAPPING_H
#define HAL_LINUX_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file or other object that is mapped; shared by its mappings. */
struct perf_image {
    size_t references;
    uint32_t flags; /* NTPROF_IMAGE_... */
    uint32_t device_major;
    uint32_t device_minor;
    uint64_t inode;
    uint64_t inode_generation; /* 0: not known */
    char name[];
};

struct perf_mapping {
    uint64_t base;
    uint64_t length; /* base + length does not wrap */
    uint64_t file_offset;
    struct perf_image *image;
};

/* Owns a reference on each image. All zero: empty. */
struct perf_mappings {
    struct perf_mapping *items;
    size_t count;
};

/* perf_image_create - make an image with one reference; with inode 0 it is anonymous.
 * Returns NULL if memory runs out. */
struct perf_image *perf_image_create(const char *name, uint32_t device_major,
                                     uint32_t device_minor, uint64_t inode,
                                     uint64_t inode_generation);

/* perf_image_release - drop a reference. */
void perf_image_release(struct perf_image *image);

/*
 * perf_mappings_insert - add a mapping that overlaps none; takes over the image's
 * reference, also on failure. Returns 0, -ENOMEM, or -EINVAL if it overlaps one.
 */
int perf_mappings_insert(struct perf_mappings *mappings, struct perf_mapping mapping);

/* perf_mappings_copy - copy into an empty set, and take a reference on each image.
 * Returns 0, or -ENOMEM: to stays empty. */
int perf_mappings_copy(struct perf_mappings *to, const struct perf_mappings *from);

/* perf_mappings_find - return the mapping that contains this address, or NULL. */
const struct perf_mapping *perf_mappings_find(const struct perf_mappings *mappings,
                                              uint64_t address);

/* perf_mappings_overlap - is any of [base, base + length) mapped? */
bool perf_mappings_overlap(const struct perf_mappings *mappings, uint64_t base,
                           uint64_t length);

/* perf_mappings_contain - is a mapping of this range, image and offset in the set? */
bool perf_mappings_contain(const struct perf_mappings *mappings,
                           const struct perf_mapping *mapping);

/* perf_mappings_take - remove the first mapping that overlaps [base, base + length):
 * the caller gets its reference on the image. Returns false if there is none. */
bool perf_mappings_take(struct perf_mappings *mappings, uint64_t base, uint64_t length,
                        struct perf_mapping *taken);

/* perf_mappings_finish - remove all. */
void perf_mappings_finish(struct perf_mappings *mappings);

#endif
