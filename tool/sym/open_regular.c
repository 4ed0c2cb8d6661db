/* SPDX-License-Identifier: MIT */
/*
 * open_regular.c - opens regular files only, inside a given root.
 */
#include "sym/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Opens a place, not the file: opening with O_PATH has no effect on devices and pipes. */
static int
open_place(const char *root, const char *path, int flags)
{
    struct open_how how = {
        .flags = (unsigned int)(O_PATH | O_CLOEXEC | flags),
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    };
    long place;
    int folder;
    int error;

    if (root[0] == '\0') {
        place = open(path, O_PATH | O_CLOEXEC | flags);
        return place < 0 ? -errno : (int)place;
    }

    folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return -errno;
    }
    place = syscall(SYS_openat2, folder, path, &how, sizeof(how));
    error = errno;
    close(folder);
    return place < 0 ? -error : (int)place;
}

static int
reopen_for_reading(int place)
{
    struct stat status;
    char link[64];
    int fd;

    if (fstat(place, &status) != 0) {
        return -errno;
    }
    if (!S_ISREG(status.st_mode)) {
        return S_ISLNK(status.st_mode) ? -ELOOP : -EINVAL;
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
    fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

static int
open_checked(const char *root, const char *path, int flags)
{
    const int place = open_place(root, path, flags);
    int fd;

    if (place < 0) {
        return place;
    }
    fd = reopen_for_reading(place);
    close(place);
    return fd;
}

int
sym_open_regular(const char *root, const char *path)
{
    return open_checked(root, path, 0);
}

int
sym_open_regular_nofollow(const char *root, const char *path)
{
    return open_checked(root, path, O_NOFOLLOW);
}
