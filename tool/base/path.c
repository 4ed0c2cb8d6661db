/* SPDX-License-Identifier: MIT */
/* path.c - takes ".", ".." and double slashes out of a path, and compares files. */
#include "base/path.h"

#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

static bool
is_part(const char *at, size_t length, const char *part)
{
    return strlen(part) == length && strncmp(at, part, length) == 0;
}

bool
path_is_unclean(const char *path)
{
    if (path[0] != '/') {
        return false;
    }
    for (const char *slash = path; slash != NULL; slash = strchr(slash + 1, '/')) {
        const size_t length = strcspn(slash + 1, "/");

        if ((length == 0 && slash[1] == '/') || is_part(slash + 1, length, ".") ||
            is_part(slash + 1, length, "..")) {
            return true;
        }
    }
    return false;
}

void
path_clean(char *path)
{
    const char *from = path;
    char *to = path;     /* behind what is kept, which ends without a slash */
    bool folder = false; /* the last part was "", "." or "..": the path ends with '/' */

    if (!path_is_unclean(path)) {
        return;
    }
    while (*from == '/') {
        const size_t length = strcspn(++from, "/");

        folder =
            length == 0 || is_part(from, length, ".") || is_part(from, length, "..");
        if (is_part(from, length, "..")) {
            while (to > path && *--to != '/') {
            }
        } else if (!folder) {
            *to++ = '/';
            memmove(to, from, length);
            to += length;
        }
        from += length;
    }
    if (folder || to == path) {
        *to++ = '/';
    }
    *to = '\0';
}

const char *
path_file_name(const char *path)
{
    const char *const slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

const char *
path_last_part(const char *path)
{
    const char *const name = path_file_name(path);

    return name[0] != '\0' ? name : path;
}

bool
path_is_same_file(const char *a, const char *b)
{
    struct stat first;
    struct stat second;

    return stat(a, &first) == 0 && stat(b, &second) == 0 && S_ISREG(first.st_mode) &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}
