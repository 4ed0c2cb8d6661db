/* SPDX-License-Identifier: MIT */
/* names.c - the name of an image and the file offset of a row, as all formats have
 * them. */
#include "view/export/names.h"

#include "base/path.h"

bool
export_has_hits(const struct profile *profile, const struct profile_row *row)
{
    for (size_t i = 0; i < profile->source_count; i++) {
        if (row->hits[i] > 0) {
            return true;
        }
    }
    return false;
}

uint64_t
export_file_offset(const struct profile *profile, const struct profile_row *row)
{
    const struct profile_image *image = &profile->images[row->image];

    return row->address - image->start + image->offset;
}

const char *
export_image_name(const struct profile_image *image)
{
    const char *name = path_last_part(image->path);

    return name[0] != '\0' ? name : EXPORT_UNKNOWN;
}
