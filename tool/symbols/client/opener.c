/* SPDX-License-Identifier: MIT */
/* opener.c - answers a request with the descriptor of a checked file, or none. */
#include "symbols/client/opener.h"

#include "base/clock.h"
#include "base/command_log.h"
#include "base/hash_index.h"
#include "base/open_regular.h"
#include "base/time_limit.h"
#include "symbols/border/protocol.h"
#include "symbols/client/section_cache.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The debug file, and the one that it shares with others. */
enum { DOWNLOADS_MAX = 2 };

/* Limits of unpacked_ns and asked_ns: a reader that was taken over may ask as long as
 * it gets answers, and need not take processor time for that. */
#define UNPACKED_NS_MAX (10 * CLOCK_SECOND_NS)
#define ASKED_NS_MAX (30 * CLOCK_SECOND_NS)

/* Check that a file is an ELF file. Returns 0; -ENOEXEC if it is none; -ENOENT, as if
 * it was not there, if it is the image itself, which is read already. */
static int
check_file(const struct opener *opener, int fd)
{
    char magic[SELFMAG];
    struct stat status;

    if (pread(fd, magic, SELFMAG, 0) != SELFMAG ||
        memcmp(magic, ELFMAG, SELFMAG) != 0) {
        return -ENOEXEC;
    }
    if (opener->inode != 0 && fstat(fd, &status) == 0 &&
        status.st_dev == opener->device && status.st_ino == opener->inode) {
        return -ENOENT;
    }
    return 0;
}

/* Check the file that was opened. Returns its descriptor, or a negative errno with it
 * closed. */
static int
check_or_close(const struct opener *opener, int fd)
{
    const int error = fd < 0 ? fd : check_file(opener, fd);

    if (fd >= 0 && error != 0) {
        close(fd);
    }
    return error != 0 ? error : fd;
}

/* asked - a file that is opened in limited time, beside the caller. */
struct asked {
    struct opener opener;
    char root[64]; /* a descriptor in /proc */
    char path[PATH_MAX];
    int fd; /* or negative errno */
};

/* The work of time_limit_run: open and check the file. */
static void
asked_work(void *argument)
{
    struct asked *const asked = argument;

    asked->fd =
        check_or_close(&asked->opener, sym_open_regular(asked->root, asked->path));
}

/* The drop of time_limit_run: close and free what nobody waits for any more. */
static void
asked_drop(void *argument)
{
    struct asked *const asked = argument;

    if (asked->fd >= 0) {
        close(asked->fd);
    }
    free(asked);
}

/* Return the key of calls that may wait for a path (base/time_limit.h): a hash of its
 * root and first two names, below which usually one file system is. */
static uint64_t
time_key(const char *root, const char *path)
{
    size_t size = 0;

    for (int names = 0; names < 2 && path[size] != '\0'; names++) {
        size += strspn(path + size, "/");
        size += strcspn(path + size, "/");
    }
    return (uint64_t)hash_bytes(root, strlen(root)) << 32 | hash_bytes(path, size);
}

/* Open a file within the time limit. Returns its descriptor or a negative errno. */
static int
open_in_time(const struct opener *opener, const char *root, const char *path)
{
    struct asked *const asked = calloc(1, sizeof(*asked));
    int fd;

    if (asked == NULL || strlen(root) >= sizeof(asked->root)) {
        free(asked);
        return -ENOENT;
    }
    asked->opener = *opener;
    asked->fd = -1;
    strcpy(asked->root, root);
    strcpy(asked->path, path);
    if (time_limit_run(time_key(root, path), asked_work, asked_drop, asked) != 0) {
        return -ETIMEDOUT;
    }
    fd = asked->fd;
    free(asked);
    return fd;
}

/* Receive the parameters of REPLY_OPEN, and open the file. Returns its descriptor or a
 * negative errno. */
static int
open_file(struct opener *opener, struct wire *wire)
{
    const char *const root = wire_get(wire) != 0 ? opener->root : "";
    const char *const path = wire_get_text(wire, PATH_MAX - 1);

    if (wire->failed || path[0] != '/') {
        return -ENOENT;
    }
    opener->key = time_key(root, path);
    return open_in_time(opener, root, path);
}

/* Receive the parameter of REPLY_DOWNLOAD, and download the file. Returns its
 * descriptor or a negative errno. */
static int
download_file(struct opener *opener, struct wire *wire, char *path, size_t path_size)
{
    unsigned char id[64];
    size_t size;
    const void *const sent = wire_get_bytes(wire, sizeof(id), &size);
    int fd;

    if (sent == NULL || size == 0 || opener->download == NULL ||
        opener->downloads++ >= DOWNLOADS_MAX) {
        return -ENOENT;
    }
    memcpy(id, sent, size);
    fd = sym_download_debug_file(opener->download, id, size, opener->path, path,
                                 path_size);
    opener->key = time_key("", path);
    return check_or_close(opener, fd);
}

/* Receive the parameters of REPLY_UNPACKED, and open the unpacked sections. Returns
 * their descriptor or a negative errno. */
static int
open_unpacked(struct opener *opener, struct wire *wire)
{
    const bool of_image = wire_get_most(wire, 1) != 0;
    struct section_wanted wanted = {.fd = of_image ? opener->fd : opener->last_fd};

    wanted.split = wire_get_most(wire, 1) != 0;
    wanted.bytes = wire_get(wire);
    return wire->failed || opener->cache == NULL || wanted.fd < 0
               ? -ENOENT
               : section_cache_open(opener->cache, &wanted, &opener->unpacked_ns);
}

void
opener_close_last(struct opener *opener)
{
    if (opener->last_fd >= 0) {
        time_limit_close(opener->last_key, opener->last_fd);
        opener->last_fd = -1;
    }
}

/* Close a file that was sent, or keep it until the next one for REPLY_UNPACKED. */
static void
end_sending(struct opener *opener, uint64_t reply, int fd)
{
    if (reply == REPLY_UNPACKED) {
        close(fd);
    } else if (opener->cache == NULL) {
        time_limit_close(opener->key, fd);
    } else {
        opener_close_last(opener);
        opener->last_fd = fd;
        opener->last_key = opener->key;
    }
}

/* Whether no more is opened for the reader, since what it asked for took too long. */
static bool
is_late(struct opener *opener)
{
    opener->late =
        opener->unpacked_ns >= UNPACKED_NS_MAX || opener->asked_ns >= ASKED_NS_MAX;
    if (opener->late) {
        COMMAND_LOG("reader of %s: its requests took too long", opener->path);
    }
    return opener->late;
}

bool
opener_answer(struct opener *opener, struct wire *wire, uint64_t reply)
{
    static const char *const asked[] = {[REPLY_OPEN] = "a file",
                                        [REPLY_DOWNLOAD] = "a download",
                                        [REPLY_UNPACKED] = "unpacked sections"};
    const uint64_t start_ns = clock_now_ns();
    char path[PATH_MAX] = "";
    int fd;

    if ((reply != REPLY_OPEN && reply != REPLY_DOWNLOAD && reply != REPLY_UNPACKED) ||
        is_late(opener)) {
        return false;
    }
    fd = reply == REPLY_OPEN       ? open_file(opener, wire)
         : reply == REPLY_DOWNLOAD ? download_file(opener, wire, path, sizeof(path))
                                   : open_unpacked(opener, wire);
    COMMAND_LOG("reader of %s: asked for %s: %s", opener->path, asked[reply],
                fd < 0 ? strerror(-fd) : "got it");
    wire_put(wire, fd < 0 ? (uint64_t)(int64_t)fd : 0);
    if (reply == REPLY_DOWNLOAD) {
        wire_put_text(wire, path);
    }
    wire_send(wire, fd);
    if (fd >= 0) {
        end_sending(opener, reply, fd);
    }
    /* Downloads have a limit of their own; one that is refused is none. */
    if (reply != REPLY_DOWNLOAD || opener->download == NULL ||
        opener->downloads > DOWNLOADS_MAX) {
        opener->asked_ns += clock_now_ns() - start_ns;
    }
    return !wire->failed;
}
