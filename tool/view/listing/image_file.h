/* SPDX-License-Identifier: MIT */
/* image_file.h - finds the file of a profiled image by its build-id. */
#ifndef VIEW_LISTING_IMAGE_FILE_H
#define VIEW_LISTING_IMAGE_FILE_H

#include "symbols/client/image.h"

struct image_file {
    char *path; /* path of the image in the profile */
    char *build_id;
    struct sym_image *image; /* NULL: there is none, and why has the reason */
    char tried[401];         /* the path that why is about; it may be cut */
    char why[512];           /* with an image, what could not be checked; or "" */
};

/*
 * image_file_open - search the file of an image below folder, by path and then by name,
 * and then at the path itself; folder NULL: only there. settings: for its symbols, or
 * NULL. Without a file image is NULL. Returns false if memory runs out.
 * image_file_close must be called in any case.
 */
bool image_file_open(struct image_file *file, const char *path, const char *build_id,
                     const char *folder, const struct sym_settings *settings);
void image_file_close(struct image_file *file);

#endif
