/* SPDX-License-Identifier: MIT */
/*
 * open_regular.h - opens files that a profiled program may have put in our way.
 *
 * A name under another process's root can lead anywhere: to a device whose opening has effects, to a
 * pipe that blocks for ever, or by an absolute link out of that root. So the file is looked at
 * before it is opened, and links are followed inside the root.
 */
#ifndef SYM_OPEN_REGULAR_H
#define SYM_OPEN_REGULAR_H

/*
 * Open a regular file for reading.
 *
 *   root  folder that stands for "/", or "" for our own root
 *   path  absolute path below root
 *
 * The descriptor (close-on-exec), or negative errno: -EINVAL if it is no regular file.
 */
int sym_open_regular(const char *root, const char *path);

/* The same without following a link in the last component: -ELOOP. */
int sym_open_regular_nofollow(const char *root, const char *path);

#endif
