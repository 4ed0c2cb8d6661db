/* SPDX-License-Identifier: MIT */
/*
 * open_regular.h - opens files that a profiled program may have put in our way.
 *
 * A name under another process's root can lead anywhere: to a device whose opening has
 * effects, to a pipe that blocks for ever, or by an absolute link out of that root. So
 * the file is looked at before it is opened, and links are followed inside the root.
 */
#ifndef BASE_OPEN_REGULAR_H
#define BASE_OPEN_REGULAR_H

#include <stdint.h>

/*
 * Open a regular file for reading.
 *
 *   root  folder that stands for "/", or "" for our own root
 *   path  absolute path below root
 *
 * The descriptor (close-on-exec), or negative errno: -EINVAL if it is no regular file,
 * -EMEDIUMTYPE if its file system is one like /proc and /sys, whose files may do
 * something when they are read.
 */
int sym_open_regular(const char *root, const char *path);

/* Open a folder by O_PATH, by a path below root as above. The descriptor
 * (close-on-exec), or negative errno. */
int sym_open_folder(const char *root, const char *path);

/* Open a regular file as above: the one that has that name in a folder. -ELOOP if it is
 * a link, -EXDEV if something is mounted there. */
int sym_open_regular_in(int folder, const char *name);

/* Open a regular file as above: that of path_fd, which was opened with O_PATH and stays
 * open. */
int sym_open_found(int path_fd);

/* Do the same beside the caller and in limited time. The key is that of
 * time_limit_run. Returns -ETIMEDOUT if the limit is reached. */
int sym_open_found_in_time(uint64_t key, int path_fd);

/* Describe for people a negative errno of these functions, or of what then read the
 * file in a process without rights: -ETIME, -ECANCELED or -ELIBACC. */
const char *sym_open_error(int error);

#endif
