/* SPDX-License-Identifier: MIT */
/* match.h - what of a profile is meant by a name or a glob that a user gave: the same
 * in every command. */
#ifndef PROFILE_MATCH_H
#define PROFILE_MATCH_H

#include "profile/profile.h"
#include "util/buffer.h"

/* Is name equal to glob, or matched by it (*, ?, [...]), as it is printed: escaped?
 * "[kernel]" and "operator[]" are names, and globs too. scratch is for the escaped
 * name, from call to call; it fails when out of memory. */
bool match_name(const char *glob, const char *name, struct buffer *scratch);

/* The same of an image: its path, the last part of that, or its build-id if that begins
 * so. */
bool match_image(const char *glob, const struct profile_image *image,
                 struct buffer *scratch);

/* The source that is called so. profile->source_count: there is none. */
size_t match_source(const struct profile *profile, const char *name);

#endif
