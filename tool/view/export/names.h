/* SPDX-License-Identifier: MIT */
/* names.h - what a row's places are called, as in the report. Only tool/view/export
 * includes it. */
#ifndef VIEW_EXPORT_NAMES_H
#define VIEW_EXPORT_NAMES_H

#include "profile/profile.h"

#define EXPORT_UNKNOWN "[unknown]"

/* export_has_hits - return whether a row has hits of any source. */
bool export_has_hits(const struct profile *profile, const struct profile_row *row);

/* export_file_offset - return the file offset of a row's address. */
uint64_t export_file_offset(const struct profile *profile,
                            const struct profile_row *row);

/* export_image_name - return the last part of the image's path, not
 * escaped; never empty. */
const char *export_image_name(const struct profile_image *image);

#endif
