/* SPDX-License-Identifier: MIT */
/* boot_copy.c - finds and makes the copy, through a folder that is held open. */
#include "sym/boot_copy.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char new_name[] = "kallsyms.new";

/* "kallsyms.BOOT-ID" */
static int
name_of_boot(char *name, size_t size)
{
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    char id[64] = "";
    ssize_t got = -1;

    if (fd >= 0) {
        got = read(fd, id, sizeof(id) - 1);
        close(fd);
    }
    id[strcspn(id, "\n/")] = '\0';
    if (got <= 0 || id[0] == '\0') {
        return -1;
    }
    snprintf(name, size, "kallsyms.%s", id);
    return 0;
}

/* Root's, and nobody else's to read or to write. */
static int
is_private(int fd, mode_t kind)
{
    struct stat status;

    return fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == kind &&
           status.st_uid == 0 && (status.st_mode & 077) == 0;
}

static int
open_private(int folder, const char *path, int flags, mode_t kind)
{
    const int fd = openat(folder, path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0 && !is_private(fd, kind)) {
        close(fd);
        return -1;
    }
    return fd;
}

static int
open_folder(const char *folder)
{
    return geteuid() != 0
               ? -1
               : open_private(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, S_IFDIR);
}

int
boot_copy_open(const char *folder)
{
    const int place = open_folder(folder);
    char name[96];
    int fd = -1;

    if (place >= 0 && name_of_boot(name, sizeof(name)) == 0) {
        fd = open_private(place, name, O_RDONLY, S_IFREG);
    }
    if (place >= 0) {
        close(place);
    }
    return fd;
}

/* Has the name the file still? Another run takes a file for left over that is being
 * written. */
static int
is_new(int place, int fd)
{
    struct stat named;
    struct stat own;

    return fstatat(place, new_name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(fd, &own) == 0 && named.st_dev == own.st_dev &&
           named.st_ino == own.st_ino;
}

int
boot_copy_begin(const char *folder)
{
    int place;
    int fd;

    if (geteuid() != 0) {
        return -1;
    }
    (void)mkdir(folder, 0700);
    place = open_folder(folder);
    if (place < 0) {
        return -1;
    }
    fd = openat(place, new_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0600);
    if (fd < 0) {
        /* Left by one that was killed, or another is at it, which then ends without a
         * copy. */
        (void)unlinkat(place, new_name, 0);
    }
    close(place);
    return fd;
}

void
boot_copy_end(const char *folder, int fd, int good)
{
    const int place = fd < 0 ? -1 : open_folder(folder);
    char name[96];

    if (place >= 0 && is_new(place, fd) &&
        (!good || name_of_boot(name, sizeof(name)) != 0 ||
         renameat(place, new_name, place, name) != 0)) {
        (void)unlinkat(place, new_name, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (place >= 0) {
        close(place);
    }
}
