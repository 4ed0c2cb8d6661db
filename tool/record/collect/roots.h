/* SPDX-License-Identifier: MIT */
/*
 * roots.h - root directories of containers, which have the debug files of their
 * programs. They are kept open because the process that led to one has often exited
 * when its program is named.
 */
#ifndef RECORD_COLLECT_ROOTS_H
#define RECORD_COLLECT_ROOTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* More are not searched: each uses a descriptor and keeps its file system busy. */
enum { ROOTS_MAX = 64 };

struct root {
    dev_t device;
    ino_t inode;
    int fd; /* O_PATH */
};

/* All zero is empty. */
struct roots {
    struct root items[ROOTS_MAX];
    size_t count;
};

void roots_finish(struct roots *roots);

/*
 * Return a descriptor of the root directory of a process, or -1 if that is our own root
 * or cannot be opened. The descriptor belongs to roots.
 *
 *   pid        the process
 *   ancestors  pids of its parent, of that one's parent and so on: the first whose root
 *              can be opened is used if that of the process cannot, as it has exited
 */
int roots_find(struct roots *roots, uint32_t pid, const uint32_t *ancestors,
               size_t count);

/* Close a root directory that no image uses any more. The last one takes its index. */
void roots_remove(struct roots *roots, size_t at);

#endif
