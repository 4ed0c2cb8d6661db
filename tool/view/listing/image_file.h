/* SPDX-License-Identifier: MIT */
/* image_file.h - finds the file of a profiled image by its build-id. */
#ifndef VIEW_LISTING_IMAGE_FILE_H
#define VIEW_LISTING_IMAGE_FILE_H

#include "symbols/client/image.h"

struct image_file {
    char *path; /* path of the image in the profile */
    char *build_id;
    struct sym_image *image; /* NULL: why has the reason */
    char tried[401];         /* the path that why is about, which may be cut */
    char why[512];           /* with an image, what could not be checked; or "" */
};

/*
 * Search below folder (by path, then by name; NULL: nowhere), then at the path itself.
 * settings configures its symbols, unless it is NULL. Returns false if memory runs out.
 * image_file_close must be called in any case.
 */
bool image_file_open(struct image_file *file, const char *path, const char *build_id,
                     const char *folder, const struct sym_settings *settings);
void image_file_close(struct image_file *file);

#endif
