/* SPDX-License-Identifier: MIT */
/* path.h - paths as people read them, and whether two lead to one file. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stdbool.h>

/* Return whether path_clean would change a path. */
bool path_is_unclean(const char *path);

/*
 * Take "//", "/./" and "NAME/.." out of a path in place, by its text alone: where NAME
 * is a symbolic link, another file may be meant. Debug information has such paths of
 * nearly every build, and one file of two spellings would be two. What does not begin
 * with a slash, such as a URL, stays.
 */
void path_clean(char *path);

/* Return what follows the last slash of a path, or all of it if it has none. */
const char *path_file_name(const char *path);

/* Return the file name of a path, or all of a path that ends with a slash. */
const char *path_last_part(const char *path);

/* Return whether two paths lead to one regular file, which exists. */
bool path_is_same_file(const char *a, const char *b);

#endif
