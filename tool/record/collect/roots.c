/* SPDX-License-Identifier: MIT */
/* roots.c - directories of processes, kept open: their roots and where they keep
 * temporary files. */
#include "record/collect/roots.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
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

bool
roots_stat(struct root *root)
{
    struct stat status;

    if (fstat(root->fd, &status) != 0) {
        return false;
    }
    root->device = status.st_dev;
    root->inode = status.st_ino;
    return true;
}

/* Whether a root directory is our own, or cannot be distinguished from it. */
static bool
is_own_root(struct root *root)
{
    struct stat own;

    return stat("/", &own) != 0 || !roots_stat(root) ||
           (own.st_dev == root->device && own.st_ino == root->inode);
}

bool
roots_open(const uint32_t *pids, size_t count, struct root *root)
{
    root->fd = -1;
    for (size_t i = 0; root->fd < 0 && i < count; i++) {
        root->fd = open_root(pids[i]);
    }
    if (root->fd >= 0 && is_own_root(root)) {
        close(root->fd);
        root->fd = -1;
    }
    return root->fd >= 0;
}

int
roots_keep(struct roots *roots, const struct root *root)
{
    for (size_t i = 0; i < roots->count; i++) {
        if (roots->items[i].device == root->device &&
            roots->items[i].inode == root->inode) {
            close(root->fd);
            return roots->items[i].fd;
        }
    }
    if (roots->count == ROOTS_MAX) {
        close(root->fd);
        return -1;
    }
    roots->items[roots->count++] = *root;
    return root->fd;
}

void
roots_remove(struct roots *roots, size_t at)
{
    close(roots->items[at].fd);
    roots->items[at] = roots->items[--roots->count];
}
