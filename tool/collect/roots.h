/* SPDX-License-Identifier: MIT */
/*
 * roots.h - root directories of containers, where debug files of their programs are:
 * open, because the process through which they are reached has often gone when its
 * program is named.
 */
#ifndef COLLECT_ROOTS_H
#define COLLECT_ROOTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* More are not looked into: each takes a descriptor, and is not freed by its file
 * system meanwhile. */
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
 * Descriptor of the root directory of a process, which stays ours. -1: it is our own
 * root, or not to be had.
 *
 *   pid        the process
 *   forebears  pids of its parent, that one's parent and so on: taken for it if it has
 *              gone
 */
int roots_find(struct roots *roots, uint32_t pid, const uint32_t *forebears,
               size_t count);

#endif
