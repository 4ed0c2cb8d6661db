/* SPDX-License-Identifier: MIT */
/* files.c - checks the owner and kind of each file, and makes missing ones. */
#include "store/sqlite/files.h"

#include "base/text.h"
#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How often it is tried to check or make a file beside a store, which others may make
 * and remove meanwhile. */
enum { TRIES = 5 };

/* The files beside a store. SQLite makes the first two (SIBLINGS_OF_ALL) in any folder
 * when they are missing, with the mode of FILE. */
static const char *const siblings[] = {"-wal", "-shm", "-journal"};
enum { SIBLINGS = 3, SIBLINGS_OF_ALL = 2 };

#define THROUGH_SERVE                                                                \
    "; to read another user's store, ask that user to run ntprof serve: it answers " \
    "by HTTP"

/* Set *why, and return false. */
__attribute__((format(printf, 2, 3))) static bool
refuse_store(char *why, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, STORE_FILES_WHY_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

/* --- the folder --- */

/* Find the folder of a store and open it, if nobody but trusted users can change the
 * path to it. Returns false with *why set. */
static bool
find_place(struct store_files *files, const char *path, char *why)
{
    *files = (struct store_files){.place.folder = -1};
    if (!file_place_find_trusted(&files->place, path, why, STORE_FILES_WHY_BYTES)) {
        if (why[0] == '\0') {
            refuse_store(why, "%s",
                         errno == ENOENT   ? "there is no such folder"
                         : errno == EISDIR ? "is no regular file"
                                           : text_errno(errno));
        }
        return false;
    }
    snprintf(files->path, sizeof(files->path), "/proc/self/fd/%d/%s",
             files->place.folder, files->place.name);
    return true;
}

/* Get the folder's status, and set files->shared: whether users other than owner, whom
 * the store belongs to, and root may make files in the folder. Returns false with *why
 * set if the status cannot be read. */
static bool
read_folder_status(struct store_files *files, uid_t owner, struct stat *folder,
                   char *why)
{
    if (fstat(files->place.folder, folder) != 0) {
        return refuse_store(why, "%s", text_errno(errno));
    }
    files->shared = (folder->st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
                    (folder->st_uid != owner && folder->st_uid != 0);
    return true;
}

/* --- files beside the store --- */

/* Check owner and mode of FILE. folder, status: status of the folder and of FILE.
 * Returns false with *why set if it is not used. */
static bool
check_store(const struct store_files *files, const struct stat *folder,
            const struct stat *status, char *why)
{
    const uid_t owner = status->st_uid;

    if (!S_ISREG(status->st_mode)) {
        return refuse_store(why, "is no regular file");
    }
    if (owner != geteuid() && owner != 0 && owner != folder->st_uid) {
        return refuse_store(
            why,
            "belongs to another user (uid %u) and is not used: that user "
            "could change it meanwhile" THROUGH_SERVE,
            (unsigned)owner);
    }
    if ((status->st_mode & S_IWOTH) != 0) {
        return refuse_store(
            why, "every user may write it, so it is not used; take the right "
                 "away: chmod 600");
    }
    if (owner != geteuid() &&
        faccessat(files->place.folder, files->place.name, R_OK, AT_EACCESS) != 0) {
        return refuse_store(why, "belongs to another user (uid %u): %s" THROUGH_SERVE,
                            (unsigned)owner, strerror(errno));
    }
    return true;
}

/* Check owner, kind and mode of a file beside the store. status, store: status of that
 * file and of FILE. Returns false with *why set. */
static bool
check_sibling(const char *name, const struct stat *status, const struct stat *store,
              char *why)
{
    char shown[100];

    text_show(shown, sizeof(shown), name);
    if (!S_ISREG(status->st_mode)) {
        return refuse_store(why, "%s beside it is no regular file; remove it", shown);
    }
    if (status->st_uid != store->st_uid) {
        return refuse_store(
            why,
            "%s beside it belongs to another user (uid %u), who could change "
            "the store by it; remove it. Readers of another user's store use "
            "ntprof serve",
            shown, (unsigned)status->st_uid);
    }
    if ((status->st_mode & S_IWOTH) != 0 || status->st_nlink != 1) {
        return refuse_store(why, "%s beside it %s, so the store is not used; %s", shown,
                            status->st_nlink != 1 ? "is known by another name too"
                                                  : "may be written by every user",
                            status->st_nlink != 1 ? "remove it" : "chmod 600");
    }
    return true;
}

/* Make an empty file that belongs to the store's owner, with mode 0600 whatever the
 * umask is. SQLite takes an empty journal for none. Returns false with errno set. */
static bool
make_sibling(int folder, const char *name, const struct stat *store)
{
    const int fd =
        openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool made =
        fd >= 0 && fchmod(fd, 0600) == 0 &&
        (store->st_uid == geteuid() || fchown(fd, store->st_uid, store->st_gid) == 0);

    if (fd >= 0) {
        const int number = errno;

        close(fd);
        if (!made) {
            (void)unlinkat(folder, name, 0);
        }
        errno = number;
    }
    return made;
}

/* Check a file beside the store; if it is missing and needed, make it. store: status of
 * FILE. Returns false with *why set. */
static bool
provide_sibling(const struct store_files *files, const char *name, bool needed,
                const struct stat *store, char *why)
{
    const int folder = files->place.folder;
    struct stat status;

    for (int i = 0; i < TRIES; i++) {
        if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
            return check_sibling(name, &status, store, why);
        }
        if (errno != ENOENT) {
            return refuse_store(why, "cannot look at %s: %s", name, text_errno(errno));
        }
        if (!needed) {
            return true;
        }
        if (store->st_uid != geteuid() && geteuid() != 0) {
            return refuse_store(
                why,
                "belongs to another user (uid %u), and only that user makes "
                "the files that are needed beside it" THROUGH_SERVE,
                (unsigned)store->st_uid);
        }
        if (make_sibling(folder, name, store)) {
            return true;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    /* If the folder is not shared, others cannot make the file either, so the store can
     * be used without it. */
    return !files->shared ||
           refuse_store(why, "cannot make %s beside it: %s", name, text_errno(errno));
}

bool
store_files_provide(const struct store_files *files, char *why)
{
    const size_t needed = files->shared ? SIBLINGS : SIBLINGS_OF_ALL;
    char name[NAME_MAX + 16];
    bool done = true;

    /* All are checked before one is made. */
    for (size_t i = 0; done && i < SIBLINGS + needed; i++) {
        snprintf(name, sizeof(name), "%s%s", files->place.name, siblings[i % SIBLINGS]);
        done = provide_sibling(files, name, i >= SIBLINGS, &files->status, why);
    }
    return done;
}

/* --- a store that is there --- */

bool
store_files_find(struct store_files *files, const char *path, char *why)
{
    struct stat folder;
    bool done;

    if (!find_place(files, path, why)) {
        return false;
    }
    if (!file_place_status(&files->place, &files->status)) {
        done = refuse_store(why, "%s",
                            errno == ENOENT
                                ? "there is no such store; to make one: ntprof "
                                  "store init sqlite:PATH"
                                : text_errno(errno));
    } else {
        done = read_folder_status(files, files->status.st_uid, &folder, why) &&
               check_store(files, &folder, &files->status, why);
    }
    if (!done) {
        store_files_finish(files);
    }
    return done;
}

/* --- a new store --- */

/* Remove a file that an earlier store of this name left beside it: SQLite would change
 * the new store by its journal. Returns false with *why set if it is not the
 * caller's. */
static bool
remove_old_sibling(const struct store_files *files, const char *name, char *why)
{
    const int folder = files->place.folder;
    struct stat status;

    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ||
               refuse_store(why, "cannot look at %s: %s", name, text_errno(errno));
    }
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        unlinkat(folder, name, 0) != 0) {
        return refuse_store(
            why,
            "there is a file %s already, which a store of this name would "
            "use; remove it, or make the store in another folder",
            name);
    }
    return true;
}

static bool
remove_old_siblings(const struct store_files *files, char *why)
{
    char name[NAME_MAX + 16];
    bool done = true;

    for (size_t i = 0; done && i < SIBLINGS; i++) {
        snprintf(name, sizeof(name), "%s%s", files->place.name, siblings[i]);
        done = remove_old_sibling(files, name, why);
    }
    return done;
}

/* Make FILE with these bytes, and in a shared folder the files beside it. It fails if
 * FILE exists, as the files beside it are that store's. Returns false with *why set and
 * without a FILE of its own. */
static bool
make_store(struct store_files *files, const void *bytes, size_t size, char *why)
{
    const int fd = openat(files->place.folder, files->place.name,
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool done = false;

    if (fd < 0) {
        return refuse_store(why, "%s",
                            errno == EEXIST
                                ? "exists already; a store is made in a new file"
                                : text_errno(errno));
    }
    if (remove_old_siblings(files, why)) {
        done = fchmod(fd, 0600) == 0 && whole_file_write(fd, bytes, size) &&
               fsync(fd) == 0 && fstat(fd, &files->status) == 0;
        done = done ? !files->shared || store_files_provide(files, why)
                    : refuse_store(why, "%s", text_errno(errno));
    }
    close(fd);
    if (!done) {
        (void)unlinkat(files->place.folder, files->place.name, 0);
    }
    return done;
}

bool
store_files_create(struct store_files *files, const char *path, const void *bytes,
                   size_t size, char *why)
{
    struct stat folder;
    struct stat link;
    bool done;

    if (lstat(path, &link) == 0 && S_ISLNK(link.st_mode)) {
        return refuse_store(why,
                            "exists already, as a link; a store is made in a new file");
    }
    if (!find_place(files, path, why)) {
        return false;
    }
    done = read_folder_status(files, geteuid(), &folder, why) &&
           make_store(files, bytes, size, why);
    if (!done) {
        store_files_finish(files);
    }
    return done;
}

void
store_files_finish(struct store_files *files)
{
    file_place_finish(&files->place);
}
