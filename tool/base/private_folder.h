/* SPDX-License-Identifier: MIT */
/* private_folder.h - folders of files that a command keeps for later ones. What others
 * than the caller could have put there is not used. */
#ifndef BASE_PRIVATE_FOLDER_H
#define BASE_PRIVATE_FOLDER_H

#include <stdbool.h>
#include <sys/stat.h>

/* All return a descriptor (close-on-exec), or -1 with *why set to the reason for
 * people, which lives until the next call of strerror. */

/* Open a folder that is the caller's and for nobody else, by a path whose last
 * component is no symbolic link. */
int private_folder_open(const char *path, const char **why);

/* Make a folder for the caller alone, unless there is something of that name, and the
 * folders that it is in if they are not there: root with mode 0755 less the umask,
 * others with 0700. Then open it as above. The path does not end with "/". */
int private_folder_make(const char *path, const char **why);

/* Open a regular file of such a folder for reading: one that is the caller's and for
 * nobody else, with one name, and no link. status: out. */
int private_folder_open_file(int folder, const char *name, struct stat *status,
                             const char **why);

#endif
