/* SPDX-License-Identifier: MIT */
/*
 * roots.h - root directories of containers, which have the debug files of their
 * programs, and other directories that only a process leads to. They are kept open
 * because that process has often exited when its code is named.
 */
#ifndef RECORD_COLLECT_ROOTS_H
#define RECORD_COLLECT_ROOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* More are not searched: each uses a descriptor and keeps its file system busy. */
enum { ROOTS_MAX = 64 };

/* root - a directory: a root directory of a container, or a /tmp. */
struct root {
    dev_t device;
    ino_t inode;
    int fd; /* O_PATH */
};

/* roots - directories that are kept open, each once. All zero is empty. */
struct roots {
    struct root items[ROOTS_MAX];
    size_t count;
};

/* Close all directories. */
void roots_finish(struct roots *roots);

/*
 * Open the root directory of a process. This may wait for its file system.
 *
 *   pids  the process, its parent, that one's parent and so on: the first whose root
 *         can be opened is used if that of the process cannot, as it has exited
 *   root  out: fd is its descriptor, which the caller closes, or -1
 *
 * Returns false if it is our own root or cannot be opened.
 */
bool roots_open(const uint32_t *pids, size_t count, struct root *root);

/* Read device and inode of an opened directory. This may wait for its file system.
 * Returns false if that fails. */
bool roots_stat(struct root *root);

/* Take over an opened directory whose device and inode were read. Returns
 * the descriptor of that directory in the list, or -1 if there are too many;
 * then it is closed. */
int roots_keep(struct roots *roots, const struct root *root);

/* Close a directory that no image uses any more. The last one takes its index. */
void roots_remove(struct roots *roots, size_t at);

#endif
