/* SPDX-License-Identifier: MIT */
/* image_names.h - which images of a profile have a path, and which share a file name.
 * For tool/report alone. */
#ifndef REPORT_IMAGE_NAMES_H
#define REPORT_IMAGE_NAMES_H

#include "profile/profile.h"
#include "util/hash_index.h"

struct image_names {
    const struct profile *profile;
    struct hash_index by_path, by_name; /* the first image of each */
    bool *
        /* by image that is the first of its name: another path ends in it too */
        shared;
};

/* False: out of memory; finish it in any case. */
bool image_names_init(struct image_names *names, const struct profile *profile);
void image_names_finish(struct image_names *names);

bool image_names_have(const struct image_names *names, const char *path);

/* Do images of different paths have the path's file name? */
bool image_names_share(const struct image_names *names, const char *path);

/* The file name of a path. */
const char *image_file_name(const char *path);

#endif
