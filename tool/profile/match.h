/* SPDX-License-Identifier: MIT */
/* match.h - finds the names of a profile that a user's name or glob refers to, in the
 * same way for all commands. */
#ifndef PROFILE_MATCH_H
#define PROFILE_MATCH_H

#include "base/buffer.h"
#include "profile/profile.h"

/* Return whether glob equals the name or matches it (*, ?, [...]), in the escaped form
 * in which names are printed. "[kernel]" and "operator[]" are names, and globs too.
 * scratch holds the escaped name and is reused between calls; it fails if memory runs
 * out. */
bool match_name(const char *glob, const char *name, struct buffer *scratch);

/* Do the same for a function: its name in full or as tables show it, or that of the
 * symbol table. image is where it is; NULL: code without a name does not match. */
bool match_function(const char *glob, const struct profile_function *function,
                    const struct profile_image *image, struct buffer *scratch);

/* Do the same for an image: its path, the last part of its path, or a prefix of its
 * build-id. */
bool match_image(const char *glob, const struct profile_image *image,
                 struct buffer *scratch);

/* Returns whether a name that a table shows matches text. */
typedef bool match_text(const char *text, const char *shown);

/* Return whether the name of a function, with any detail with which tables show it,
 * matches text. Without memory it does not, and scratch has failed. */
bool match_shown(const struct profile_function *function,
                 const struct profile_image *image, match_text *matches,
                 const char *text, struct buffer *scratch);

/* Return the index of the source with this name, or profile->source_count if there is
 * none. */
size_t match_source(const struct profile *profile, const char *name);

#endif
