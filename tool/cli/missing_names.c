/* SPDX-License-Identifier: MIT */
/* missing_names.c - asks the databases of packages about the files that this machine
 * has. */
#include "cli/missing_names.h"

#include "packages/packages.h"
#include "view/listing/image_file.h"

#include <stdio.h>
#include <stdlib.h>

/* Return whether this machine has the file of the image. */
static bool
is_here(const struct profile_image *image)
{
    struct image_file file;
    const bool here = image_file_open(&file, image->path, image->build_id,
                                      /* folder */ NULL, /* settings */ NULL) &&
                      file.image != NULL;

    image_file_close(&file);
    return here;
}

void
missing_names_advise(struct report_advice *list, size_t count)
{
    struct package_file *const files = calloc(count, sizeof(*files));
    size_t *const at = calloc(count, sizeof(*at)); /* index in list of each file */
    size_t here = 0;

    for (size_t i = 0; files != NULL && at != NULL && i < count; i++) {
        if (is_here(list[i].image)) {
            at[here] = i;
            files[here++].path = list[i].image->path;
        }
    }
    if (here > 0) {
        packages_advise("", files, here);
    }
    for (size_t i = 0; i < here; i++) {
        snprintf(list[at[i]].text, sizeof(list[at[i]].text), "%s", files[i].advice);
        snprintf(list[at[i]].server, sizeof(list[at[i]].server), "%s", files[i].server);
    }
    free(files);
    free(at);
}
