/* SPDX-License-Identifier: MIT */
/*
 * file_place.h - a name in a folder that is held open: where a path leads, links
 * followed with care.
 *
 * Whoever may write to a folder can put a link there, and lead another user's program
 * to any file. So every link on the way is followed only if its folder is writable by
 * its owner only, or the link is the caller's or the folder's owner's: the kernel's own
 * rule for protected_symlinks, but for every folder that others may write to, and
 * whatever that setting is.
 */
#ifndef UTIL_FILE_PLACE_H
#define UTIL_FILE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* All zero but folder = -1: none. */
struct file_place {
    int folder; /* O_PATH, of the caller */
    char *name; /* in folder; nothing need be there */
    bool
        /* the name is a link of procfs to something open that has no name: opened by
         * following it */
        magic;
};

/*
 * file_place_find - where path leads.
 *
 *   why  out: why a link is not followed; "" if errno says what is wrong
 *
 * False with errno: ENOENT for a folder that is not there, EACCES for a link that is
 * not followed, EISDIR for a path that names a folder by its end, ELOOP, ENOMEM ...
 */
bool file_place_find(struct file_place *place, const char *path, char *why,
                     size_t why_bytes);

/* file_place_finish - close the folder. Keeps errno. */
void file_place_finish(struct file_place *place);

/* file_place_status - of what is there. False with errno: ENOENT if nothing is. */
bool file_place_status(const struct file_place *place, struct stat *status);

#endif
