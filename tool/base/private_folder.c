/* SPDX-License-Identifier: MIT */
/* private_folder.c - checks owner, type and mode of what was opened, not of a name. */
#include "base/private_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Whether what a descriptor leads to is of this type (S_IF...), the caller's, and for
 * nobody else. */
static bool
is_own(int fd, mode_t type, struct stat *status)
{
    return fstat(fd, status) == 0 && (status->st_mode & S_IFMT) == type &&
           status->st_uid == geteuid() && (status->st_mode & 077) == 0;
}

int
private_folder_open(const char *path, const char **why)
{
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (folder < 0) {
        *why = strerror(errno);
    } else if (!is_own(folder, S_IFDIR, &status)) {
        *why = "the folder must belong to the caller and have mode 0700";
        close(folder);
        return -1;
    }
    return folder;
}

int
private_folder_make(const char *path, const char **why)
{
    /* Others use root's /var/cache, too. */
    const mode_t above = geteuid() == 0 ? 0755 : 0700;
    char part[PATH_MAX];

    for (size_t i = 1; path[i - 1] != '\0' && i < sizeof(part); i++) {
        if (path[i] == '/' || path[i] == '\0') {
            snprintf(part, sizeof(part), "%.*s", (int)i, path);
            /* If that fails, so does opening it. */
            (void)mkdir(part, path[i] == '/' ? above : 0700);
        }
    }
    return private_folder_open(path, why);
}

int
private_folder_open_file(int folder, const char *name, struct stat *status,
                         const char **why)
{
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0) {
        *why = strerror(errno);
    } else if (!is_own(fd, S_IFREG, status) || status->st_nlink != 1) {
        *why = "it must be a file of the caller with mode 0600 and one name";
        close(fd);
        return -1;
    }
    return fd;
}
