/* SPDX-License-Identifier: MIT */
/*
 * file_place.h - finds where a path leads, as a name in an open folder, and follows
 * links only if that is safe.
 *
 * A user who may write to a folder can put a link there that leads another user's
 * program to any file. So each link on the way is followed only if just the owner may
 * write to its folder, or if the link belongs to the caller or to the folder's owner.
 * This is the kernel's rule for protected_symlinks, but it applies to all folders that
 * others may write to, independent of that setting.
 */
#ifndef BASE_FILE_PLACE_H
#define BASE_FILE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* file_place - where a path leads. All zero except folder = -1: nowhere. */
struct file_place {
    int folder; /* O_PATH; owned by the caller */
    char *name; /* in folder; nothing needs to exist there */
    /* The name is a link of procfs to an open file without a name: open it by
     * following. */
    bool magic;
};

/*
 * file_place_find - find where path leads.
 *
 *   why  out: why a link is not followed; "" if errno has the reason
 *
 * Returns false with errno: ENOENT for a missing folder, EACCES for a link that is not
 * followed, EISDIR for a path that ends like a folder, ELOOP, ENOMEM ...
 */
bool file_place_find(struct file_place *place, const char *path, char *why,
                     size_t why_bytes);

/*
 * file_place_find_trusted - do the same for a file whose content is believed. Refuses
 * also, with EACCES, a path with a folder that every user may write and that is not
 * sticky: what was found there could be exchanged at any time.
 */
bool file_place_find_trusted(struct file_place *place, const char *path, char *why,
                             size_t why_bytes);

/* file_place_open - open the file to which path leads, with flags of open. Returns -1
 * with errno and *why set as by file_place_find. */
int file_place_open(const char *path, int flags, char *why, size_t why_bytes);

/* file_place_finish - close the folder. Keeps errno. */
void file_place_finish(struct file_place *place);

/* file_place_status - get the status of the file there. Returns false with errno:
 * ENOENT if nothing exists. */
bool file_place_status(const struct file_place *place, struct stat *status);

#endif
