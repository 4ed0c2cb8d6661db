/* SPDX-License-Identifier: MIT */
/* image_names.h - finds images with the same path or file name in a profile. */
#ifndef PROFILE_IMAGE_NAMES_H
#define PROFILE_IMAGE_NAMES_H

#include "base/hash_index.h"
#include "profile/profile.h"

struct image_names {
    const struct profile *profile;
    struct hash_index by_path, by_name; /* index of the first image with each */
    /* by index of the first image with a name: whether another path ends in it too */
    bool *shared;
};

/* Index all images. Returns false if memory runs out; finish must be called in any
 * case. */
bool image_names_init(struct image_names *names, const struct profile *profile);
void image_names_finish(struct image_names *names);

bool image_names_have(const struct image_names *names, const char *path);

/* Return whether images with different paths have the file name of this path. */
bool image_names_share(const struct image_names *names, const char *path);

#endif
