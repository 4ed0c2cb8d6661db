/* SPDX-License-Identifier: MIT */
/*
 * installed.c - looks beside the command's own program: in a build folder and where
 * both are installed.
 */
#include "base/installed.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* own - the command's own file. */
struct own {
    char folder[PATH_MAX];
    uid_t owner;
    bool secure; /* it has rights that its caller may not have */
};

/* Find the command's own file. Without /proc only the path is known by which the
 * command was executed (AT_EXECFN). Its caller chose that, so a command with more
 * rights than its caller does not use it. Returns false if the file is not found. */
static bool
find_own(struct own *own)
{
    struct stat status;
    const ssize_t length =
        readlink("/proc/self/exe", own->folder, sizeof(own->folder) - 1);
    const char *const called = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    char *slash;

    own->secure = getauxval(AT_SECURE) != 0;
    if (length > 0) {
        own->folder[length] = '\0';
    } else if (own->secure || called == NULL || realpath(called, own->folder) == NULL) {
        return false;
    }
    if (stat("/proc/self/exe", &status) == 0 || stat(own->folder, &status) == 0) {
        own->owner = status.st_uid;
    } else {
        own->owner = geteuid();
    }
    slash = strrchr(own->folder, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    return true;
}

static bool
is_trusted_owner(const struct own *own, uid_t uid)
{
    return uid == 0 || (!own->secure && (uid == geteuid() || uid == own->owner));
}

/*
 * Whether only trusted owners can have put a file there. The file and its folder, of
 * depth 0 and 1 here, must belong to them; owners of the folders above could as well
 * have put the command itself there. Not every user may write to any of these; a folder
 * that all may write protects its files if it is sticky.
 */
static bool
is_trusted(const struct own *own, const char *path)
{
    char part[PATH_MAX];
    struct stat status;
    size_t depth = 0;

    snprintf(part, sizeof(part), "%s", path);
    for (char *end = part + strlen(part); end != NULL; end = strrchr(part, '/')) {
        *end = '\0';
        if (stat(depth == 0        ? path
                 : part[0] == '\0' ? "/"
                                   : part,
                 &status) != 0 ||
            (depth < 2 && !is_trusted_owner(own, status.st_uid)) ||
            ((status.st_mode & S_IWOTH) != 0 &&
             (depth == 0 || (status.st_mode & S_ISVTX) == 0))) {
            return false;
        }
        depth++;
    }
    return true;
}

enum installed_result
installed_find(const char *name, const char *built_in, char path[PATH_MAX])
{
    const char *const folders[] = {NTPROF_INSTALLED_FOLDER, built_in};
    enum installed_result result = INSTALLED_MISSING;
    int error = ENOENT;
    char file[2 * PATH_MAX];
    struct own own;

    if (!find_own(&own)) {
        return INSTALLED_MISSING;
    }
    for (int i = 0; i < (own.secure ? 1 : 2); i++) {
        if (folders[i][0] == '/') {
            snprintf(file, sizeof(file), "%s/%s", folders[i], name);
        } else {
            snprintf(file, sizeof(file), "%s/%s/%s", own.folder, folders[i], name);
        }
        if (realpath(file, path) == NULL) {
            if (errno == ENOENT || errno == ENOTDIR) {
                continue;
            }
        } else if (!is_trusted(&own, path)) {
            return INSTALLED_UNTRUSTED;
        } else if (access(path, R_OK) == 0) {
            return INSTALLED_FOUND;
        }
        error = errno;
        result = INSTALLED_UNREADABLE;
    }
    errno = error;
    return result;
}
