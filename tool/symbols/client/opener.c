/* SPDX-License-Identifier: MIT */
/* opener.c - see opener.h. */
#include "symbols/client/opener.h"

#include "base/open_regular.h"
#include "symbols/border/protocol.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The debug file, and the one that it shares with others. */
enum { DOWNLOADS_MAX = 2 };

static int
check_file(const struct opener *opener, int fd)
{
    char magic[SELFMAG];
    struct stat status;
    struct stat image;

    if (pread(fd, magic, SELFMAG, 0) != SELFMAG ||
        memcmp(magic, ELFMAG, SELFMAG) != 0) {
        return -ENOEXEC;
    }
    if (opener->fd >= 0 && fstat(fd, &status) == 0 && fstat(opener->fd, &image) == 0 &&
        status.st_dev == image.st_dev && status.st_ino == image.st_ino) {
        return -ENOENT;
    }
    return 0;
}

/* A descriptor for the process, or negative errno. */
static int
checked(const struct opener *opener, int fd)
{
    const int error = fd < 0 ? fd : check_file(opener, fd);

    if (fd >= 0 && error != 0) {
        close(fd);
    }
    return error != 0 ? error : fd;
}

static int
open_file(const struct opener *opener, struct wire *wire)
{
    const char *const root = wire_get(wire) != 0 ? opener->root : "";
    const char *const path = wire_get_text(wire, PATH_MAX - 1);

    return wire->failed || path[0] != '/'
               ? -ENOENT
               : checked(opener, sym_open_regular(root, path));
}

static int
download_file(struct opener *opener, struct wire *wire, char *path, size_t path_size)
{
    unsigned char id[64];
    size_t size;
    const void *const sent = wire_get_bytes(wire, sizeof(id), &size);

    if (sent == NULL || size == 0 || opener->download == NULL ||
        opener->downloads++ >= DOWNLOADS_MAX) {
        return -ENOENT;
    }
    memcpy(id, sent, size);
    return checked(opener, sym_download_debug_file(opener->download, id, size,
                                                   opener->path, path, path_size));
}

bool
opener_answer(struct opener *opener, struct wire *wire, uint64_t reply)
{
    char path[PATH_MAX] = "";
    int fd;

    if (reply != REPLY_OPEN && reply != REPLY_DOWNLOAD) {
        return false;
    }
    fd = reply == REPLY_OPEN ? open_file(opener, wire)
                             : download_file(opener, wire, path, sizeof(path));
    wire_put(wire, fd < 0 ? (uint64_t)(int64_t)fd : 0);
    if (reply == REPLY_DOWNLOAD) {
        wire_put_text(wire, path);
    }
    wire_send(wire, fd);
    if (fd >= 0) {
        close(fd);
    }
    return !wire->failed;
}
