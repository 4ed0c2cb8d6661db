/* SPDX-License-Identifier: MIT */
/* file_place.c - walks a path component by component, as the kernel does, and checks
 * the owner of each link. */
#include "base/file_place.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINKS_MAX = 40 /* the kernel's own limit */ };

/* walk - the rest of the path, and the folder where it continues. */
struct walk {
    int folder;
    char *rest; /* malloc'd */
    int links;
    bool trusted; /* folders that every user may write are refused */
    dev_t device; /* of the file to which a final link of procfs led */
    ino_t inode;  /* 0: there was no such link */
    char *why;
    size_t why_bytes;
};

/* --- where a path led --- */

void
file_place_finish(struct file_place *place)
{
    const int number = errno;

    if (place->folder >= 0) {
        close(place->folder);
    }
    free(place->name);
    *place = (struct file_place){.folder = -1};
    errno = number;
}

bool
file_place_status(const struct file_place *place, struct stat *status)
{
    return fstatat(place->folder, place->name, status,
                   place->magic ? 0 : AT_SYMLINK_NOFOLLOW) == 0;
}

/* --- links and mounts --- */

static bool
is_procfs(int fd)
{
    struct statfs system;

    return fstatfs(fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* Open a folder and replace the current one with it. flags: O_NOFOLLOW or 0. */
static bool
enter(struct walk *walk, const char *name, int flags)
{
    const int folder =
        openat(walk->folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);

    if (folder < 0) {
        return false;
    }
    close(walk->folder);
    walk->folder = folder;
    return true;
}

/* Whether a link may be followed: not if another user may have put it there
 * (file_place.h). Then errno and why are set. */
static bool
may_follow(const struct walk *walk, const char *name, const struct stat *link)
{
    struct stat folder;
    char shown[256];

    if (fstat(walk->folder, &folder) != 0) {
        return false;
    }
    if ((folder.st_mode & (S_IWGRP | S_IWOTH)) == 0 || link->st_uid == geteuid() ||
        link->st_uid == folder.st_uid) {
        return true;
    }
    snprintf(
        walk->why, walk->why_bytes,
        "%s is a link of another user (uid %u) in a folder where others may write: "
        "not followed; remove it or name another file",
        text_show(shown, sizeof(shown), name), (unsigned)link->st_uid);
    errno = EACCES;
    return false;
}

/* Put the target of a link before the rest of the path, which is empty or begins with a
 * slash. The link is open, so that the one that was checked is the one that is read.
 * Returns false with errno. */
static bool
follow(struct walk *walk, int link, const char *rest)
{
    char target[PATH_MAX];
    const ssize_t length = readlinkat(link, "", target, sizeof(target) - 1);
    char *joined = NULL;

    if (length < 0) {
        return false;
    }
    if (++walk->links > LINKS_MAX) {
        errno = ELOOP;
        return false;
    }
    target[length] = '\0';
    if (asprintf(&joined, "%s%s", target, rest) < 0) {
        errno = ENOMEM;
        return false;
    }
    free(walk->rest);
    walk->rest = joined;
    return target[0] != '/' || enter(walk, "/", O_NOFOLLOW);
}

/* Remove what stands before rest, a position in walk->rest, from the path. */
static void
skip_component(struct walk *walk, const char *rest)
{
    memmove(walk->rest, rest, strlen(rest) + 1);
}

/*
 * Follow a link of procfs. It leads to an open file whatever its text says:
 * /proc/PID/root to another process's root. A folder is entered as the kernel does. As
 * the last component it leads to a file that has a path here, or to one that has none,
 * such as a pipe: then sets *magic.
 */
static bool
follow_procfs(struct walk *walk, int link, const char *name, const char *rest,
              bool *magic)
{
    struct stat status;

    if (*rest != '\0') {
        const bool done = enter(walk, name, 0);

        if (done) {
            skip_component(walk, rest);
        }
        return done;
    }
    if (fstatat(walk->folder, name, &status, 0) != 0) {
        return false;
    }
    *magic = !S_ISREG(status.st_mode);
    walk->device = status.st_dev;
    walk->inode = status.st_ino;
    return *magic || follow(walk, link, rest);
}

/* --- the walk --- */

/*
 * Enter the folder that a component is, or follow the link that it is.
 *
 *   found  in: the component, open with O_PATH
 *   last   in: the path ends with the component; out: the walk does
 *   magic  out: see file_place.h
 *
 * Returns false with errno.
 */
static bool
step_into(struct walk *walk, int found, const char *name, const char *rest, bool *last,
          bool *magic)
{
    struct stat status;
    bool done;

    if (fstat(found, &status) != 0) {
        return false;
    }
    if (S_ISLNK(status.st_mode)) {
        done = is_procfs(walk->folder)
                   ? follow_procfs(walk, found, name, rest, magic)
                   : may_follow(walk, name, &status) && follow(walk, found, rest);
        *last = *magic;
        return done;
    }
    if (*last) {
        return true;
    }
    done = enter(walk, name, O_NOFOLLOW);
    if (done) {
        skip_component(walk, rest);
    }
    return done;
}

/* Whether not every user can exchange what is in the current folder: others have no
 * right to write to it, or it is sticky, so that only the owner of an entry, and of the
 * folder, can. Otherwise errno and why are set. */
static bool
check_folder(const struct walk *walk, const char *name)
{
    struct stat folder;
    char shown[128];

    if (fstat(walk->folder, &folder) != 0) {
        return false;
    }
    if ((folder.st_mode & S_IWOTH) == 0 || (folder.st_mode & S_ISVTX) != 0) {
        return true;
    }
    snprintf(walk->why, walk->why_bytes,
             "every user may write to the folder of %s, and so replace it: not used; "
             "take the right away (chmod o-w), or name a file in another folder",
             text_show(shown, sizeof(shown), name));
    errno = EACCES;
    return false;
}

/* Walk the next component of the path. Sets *last if the path leads to it, whether it
 * exists or not: it is then *name, which is malloc'd, in walk->folder. Returns false
 * with errno; the caller frees *name. */
static bool
step(struct walk *walk, char **name, bool *last, bool *magic)
{
    const char *const begin = walk->rest + strspn(walk->rest, "/");
    const size_t length = strcspn(begin, "/");
    const char *const rest = begin + length;
    bool done;
    int found;

    *name = strndup(begin, length);
    if (*name == NULL) {
        errno = ENOMEM;
        return false;
    }
    *last = *rest == '\0';
    if (length == 0 ||
        (*last && (strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0))) {
        errno = EISDIR;
        return false;
    }
    if (walk->trusted && !check_folder(walk, *name)) {
        return false;
    }
    found = openat(walk->folder, *name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (found < 0) {
        return *last && errno == ENOENT;
    }
    done = step_into(walk, found, *name, rest, last, magic);
    close(found);
    if (!done || !*last) {
        free(*name);
        *name = NULL;
    }
    return done;
}

/* Whether the path that was found behind a link of procfs, if there was one, leads to
 * the same file as the link. A file of another mount namespace has another path here or
 * none; then errno and why are set. */
static bool
is_what_was_open(const struct walk *walk, const struct file_place *place)
{
    struct stat status;

    if (walk->inode == 0 || place->magic ||
        (file_place_status(place, &status) && status.st_dev == walk->device &&
         status.st_ino == walk->inode)) {
        return true;
    }
    snprintf(walk->why, walk->why_bytes,
             "leads to an open file that has no path here: name a file");
    errno = EXDEV;
    return false;
}

/* Find where a path leads. trusted: folders that every user may write are refused. */
static bool
find_place(struct file_place *place, const char *path, bool trusted, char *why,
           size_t why_bytes)
{
    struct walk walk = {
        .rest = strdup(path), .trusted = trusted, .why = why, .why_bytes = why_bytes};
    bool last = false;
    bool good;

    *place = (struct file_place){.folder = -1};
    why[0] = '\0';
    walk.folder = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    good = walk.folder >= 0 && walk.rest != NULL;
    while (good && !last) {
        good = step(&walk, &place->name, &last, &place->magic);
    }
    place->folder = walk.folder;
    good = good && is_what_was_open(&walk, place);
    if (!good) {
        file_place_finish(place);
    }
    free(walk.rest);
    return good;
}

/* --- what callers use --- */

bool
file_place_find(struct file_place *place, const char *path, char *why, size_t why_bytes)
{
    return find_place(place, path, false, why, why_bytes);
}

bool
file_place_find_trusted(struct file_place *place, const char *path, char *why,
                        size_t why_bytes)
{
    return find_place(place, path, true, why, why_bytes);
}

int
file_place_open(const char *path, int flags, char *why, size_t why_bytes)
{
    struct file_place place;
    int fd = -1;

    if (file_place_find(&place, path, why, why_bytes)) {
        fd = openat(place.folder, place.name,
                    flags | O_CLOEXEC | (place.magic ? 0 : O_NOFOLLOW));
        file_place_finish(&place);
    }
    return fd;
}
