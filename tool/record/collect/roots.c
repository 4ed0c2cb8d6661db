/* SPDX-License-Identifier: MIT */
/* roots.c - root directories of containers. */
#include "record/collect/roots.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void
roots_finish(struct roots *roots)
{
    for (size_t i = 0; i < roots->count; i++) {
        close(roots->items[i].fd);
    }
    roots->count = 0;
}

/* Open the root directory of a process. Returns a descriptor, or -1. */
static int
open_root(uint32_t pid)
{
    char path[40];

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Keep fd, a root directory, in the list, or close it if it is our own root, is in the
 * list already or there are too many. Returns the list's descriptor of that directory,
 * or -1 if the list has none. */
static int
keep_root(struct roots *roots, int fd)
{
    struct stat own;
    struct stat root;

    if (stat("/", &own) != 0 || fstat(fd, &root) != 0 ||
        (own.st_dev == root.st_dev && own.st_ino == root.st_ino)) {
        close(fd);
        return -1;
    }
    for (size_t i = 0; i < roots->count; i++) {
        if (roots->items[i].device == root.st_dev &&
            roots->items[i].inode == root.st_ino) {
            close(fd);
            return roots->items[i].fd;
        }
    }
    if (roots->count == ROOTS_MAX) {
        close(fd);
        return -1;
    }
    roots->items[roots->count++] = (struct root){root.st_dev, root.st_ino, fd};
    return fd;
}

void
roots_remove(struct roots *roots, size_t at)
{
    close(roots->items[at].fd);
    roots->items[at] = roots->items[--roots->count];
}

int
roots_find(struct roots *roots, uint32_t pid, const uint32_t *ancestors, size_t count)
{
    int fd = open_root(pid);

    for (size_t i = 0; fd < 0 && i < count; i++) {
        fd = open_root(ancestors[i]);
    }
    return fd < 0 ? -1 : keep_root(roots, fd);
}
