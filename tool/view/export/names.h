/* SPDX-License-Identifier: MIT */
/* names.h - what a row's places are called, as in the report. For this folder alone. */
#ifndef VIEW_EXPORT_NAMES_H
#define VIEW_EXPORT_NAMES_H

#include "base/buffer.h"
#include "profile/profile.h"

#define EXPORT_UNKNOWN "[unknown]"

/* Has the row a function with a name? */
bool export_is_named(const struct profile *profile, const struct profile_row *row);

/* Has it hits in any source? */
bool export_has_hits(const struct profile *profile, const struct profile_row *row);

/* Where the row is in its file. */
uint64_t export_file_offset(const struct profile *profile,
                            const struct profile_row *row);

/* The last part of the image's path, not escaped; never empty. */
const char *export_image_name(const struct profile_image *image);

/* The function's name, or image+0xoffset; escaped, appended. */
void export_place_name(const struct profile *profile, const struct profile_row *row,
                       struct buffer *out);

#endif
