/* SPDX-License-Identifier: MIT */
#include "view/export/names.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

bool
export_is_named(const struct profile *profile, const struct profile_row *row)
{
    return profile->functions[row->function].name[0] != '\0';
}

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
    const char *slash = strrchr(image->path, '/');
    const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : image->path;

    return name[0] != '\0' ? name : EXPORT_UNKNOWN;
}

void
export_place_name(const struct profile *profile, const struct profile_row *row,
                  struct buffer *out)
{
    if (export_is_named(profile, row)) {
        text_escape(out, profile->functions[row->function].name);
        return;
    }
    text_escape(out, export_image_name(&profile->images[row->image]));
    buffer_print(out, "+0x%" PRIx64, export_file_offset(profile, row));
}
