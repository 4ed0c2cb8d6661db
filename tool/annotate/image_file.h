/* SPDX-License-Identifier: MIT */
/* image_file.h - finds the file of an image that was profiled, by its build-id. */
#ifndef ANNOTATE_IMAGE_FILE_H
#define ANNOTATE_IMAGE_FILE_H

#include "sym/sym.h"

struct image_file {
    char *path; /* of the image, in the profile */
    char *build_id;
    struct sym_image *image; /* NULL: why says why */
    char tried[401];         /* the path that why is of, maybe cut */
    char why[512];           /* or, with an image, what could not be checked; or "" */
};

/*
 * Looks below folder first (by path, then by name; NULL: nowhere), then at the path
 * itself. Its symbols are configured by settings, or as they are if that is NULL.
 * False: out of memory. Close it in any case.
 */
bool image_file_open(struct image_file *file, const char *path, const char *build_id,
                     const char *folder, const struct sym_settings *settings);
void image_file_close(struct image_file *file);

#endif
