/* SPDX-License-Identifier: MIT */
/*
 * image_join.h - which images of several profiles are the same.
 *
 * Files are the same by build-id and name; files without a build-id, the kernel, the
 * vdso and code of JIT compilers by path. The image of a sum covers the ranges of all
 * that are the same.
 */
#ifndef PROFILE_IMAGE_JOIN_H
#define PROFILE_IMAGE_JOIN_H

#include "profile/profile.h"

#include "base/hash_index.h"

/* image_join - images of a sum by what identifies them. All zero: empty. */
struct image_join {
    struct hash_index by_key;
};

void image_join_finish(struct image_join *join);

/* Forget all images but keep the memory. */
void image_join_clear(struct image_join *join);

/* Return whether an image is a file of a known build: such files have the same code at
 * the same file offsets in each run. */
bool image_join_is_build(const struct profile_image *image);

/*
 * Find or add an image in the sum, whose bucket size must be set, as it says whether
 * addresses are those of a run (0).
 *
 *   shift  out: added to the image's addresses, they are those of the sum
 *
 * Returns false if memory runs out.
 */
bool image_join_add(struct image_join *join, struct profile *sum,
                    const struct profile_image *image, uint32_t *index,
                    uint64_t *shift);

#endif
