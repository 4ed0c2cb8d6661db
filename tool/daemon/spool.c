/* SPDX-License-Identifier: MIT */
/*
 * spool.c - writes, lists, takes and drops the files of the folder.
 *
 * Names begin with the start of the window in 20 digits, so that their order is that of
 * the windows; those of refused windows have "refused-" in front of the digits. Public
 * functions lock the mutex themselves; functions of this file are called with it held,
 * but for those of spool_open, before which no other thread has the spool.
 */
#include "daemon/spool.h"

#include "base/file_place.h"
#include "base/text.h"
#include "base/whole_file.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".pb.gz"
#define TEMPORARY ".new"
#define LOCK ".lock"
#define REFUSED "refused-"
#define NO_FILE \
    ".ntprof-no-file" /* stands for any file of the folder: file_place_find
                                   * wants one */

enum { START_DIGITS = 20 };

/* Larger files are no windows that an agent wrote. */
static const off_t file_bytes_max = (off_t)256 << 20;

static bool
has_suffix(const char *name, const char *suffix)
{
    const size_t length = strlen(name);

    return length > strlen(suffix) && length < SPOOL_NAME_BYTES &&
           strcmp(name + length - strlen(suffix), suffix) == 0;
}

/* Return where the digits of the window's start begin in a name. */
static const char *
start_of(const char *name)
{
    return strncmp(name, REFUSED, sizeof(REFUSED) - 1) == 0 ? name + sizeof(REFUSED) - 1
                                                            : name;
}

static bool
is_refused(const char *name)
{
    return start_of(name) != name;
}

/* Return whether a name is that of a window, refused or not. */
static bool
is_window(const char *name)
{
    return strspn(start_of(name), "0123456789") == START_DIGITS &&
           has_suffix(name, SUFFIX);
}

/* entry - a file of the spool. */
struct entry {
    char name[SPOOL_NAME_BYTES];
    uint64_t bytes;
};

static int
compare_entries(const void *left, const void *right)
{
    return strcmp(start_of(((const struct entry *)left)->name),
                  start_of(((const struct entry *)right)->name));
}

static DIR *
open_listing(const struct spool *spool)
{
    const int fd = openat(spool->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const folder = fd >= 0 ? fdopendir(fd) : NULL;

    if (folder == NULL && fd >= 0) {
        close(fd);
    }
    return folder;
}

/* Append a file to the list. Returns false if memory runs out. */
static bool
add_entry(struct entry **list, size_t *count, const char *name, uint64_t bytes)
{
    struct entry *grown = *list;

    if ((*count & (*count - 1)) == 0) { /* the list has room for a power of two, and is
                                         * full */
        grown = reallocarray(*list, *count == 0 ? 1 : *count * 2, sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        *list = grown;
    }
    grown[*count].bytes = bytes;
    snprintf(grown[*count].name, SPOOL_NAME_BYTES, "%s", name);
    ++*count;
    return true;
}

/* List the windows, the refused ones, too, oldest first. Returns their number; the
 * caller frees the list. If memory runs out, some are missing. */
static size_t
list_windows(const struct spool *spool, struct entry **list)
{
    DIR *const folder = open_listing(spool);
    size_t count = 0;
    const struct dirent *found;
    struct stat status;

    *list = NULL;
    while (folder != NULL && (found = readdir(folder)) != NULL) {
        if (is_window(found->d_name) &&
            fstatat(spool->folder, found->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode) &&
            !add_entry(list, &count, found->d_name, (uint64_t)status.st_size)) {
            break;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    if (count > 1) {
        qsort(*list, count, sizeof(**list), compare_entries);
    }
    return count;
}

/* Remove the files that a killed agent did not finish. */
static void
remove_temporary(const struct spool *spool)
{
    DIR *const folder = open_listing(spool);
    const struct dirent *found;

    while (folder != NULL && (found = readdir(folder)) != NULL) {
        if (found->d_name[0] == '.' && has_suffix(found->d_name, TEMPORARY)) {
            (void)unlinkat(spool->folder, found->d_name, 0);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

/* Set the error of spool_open. Returns false. */
static bool
fail_open(const char *path, const char *what, const char *why,
          struct spool_error *error)
{
    char shown[200];

    snprintf(error->text, sizeof(error->text), "%s: %s: %s",
             text_show(shown, sizeof(shown), path), what, why);
    return false;
}

/* Return whether nobody but the agent's user and root can put files into the folder.
 * The sender decodes its files without a reader (sender.c). */
static bool
is_private(int folder)
{
    struct stat status;

    return fstat(folder, &status) == 0 &&
           (status.st_uid == geteuid() || status.st_uid == 0) &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Set the error right after file_place_find has failed: it gives the reason in why, or
 * leaves it in errno, which is read here, if why is empty. Returns false. */
static bool
fail_place(const char *path, const char *why, struct spool_error *error)
{
    return fail_open(path, "cannot open the spool folder",
                     why[0] != '\0' ? why : text_errno(errno), error);
}

/* Set the error that the parent of the spool's folder is missing. Returns false. */
static bool
fail_parent(const char *name, struct spool_error *error)
{
    char shown[200];

    snprintf(error->text, sizeof(error->text), "%s: its parent folder does not exist",
             text_show(shown, sizeof(shown), name));
    return false;
}

/* Make the folder unless something is there. name: path without slashes at its end.
 * Returns false with the error set. */
static bool
make_folder(const char *name, const char *path, struct spool_error *error)
{
    struct file_place place;
    struct stat status;
    char why[200];
    bool made;

    if (!file_place_find(&place, name, why, sizeof(why))) {
        /* A name that ends with "." or "..", or is "/", is that of a folder. */
        return errno == EISDIR ||
               (errno == ENOENT && why[0] == '\0' ? fail_parent(name, error)
                                                  : fail_place(path, why, error));
    }
    made = file_place_status(&place, &status) ||
           mkdirat(place.folder, place.name, 0700) == 0 || errno == EEXIST ||
           fail_open(path, "cannot make the spool folder", text_errno(errno), error);
    file_place_finish(&place);
    return made;
}

/* Open the folder, made if needed, without following links of other users. Returns a
 * descriptor with O_PATH, or -1 with the error set. */
static int
open_folder(const char *path, struct spool_error *error)
{
    struct file_place place = {.folder = -1};
    size_t length = strlen(path);
    char *name = NULL;
    char *file = NULL;
    char why[200];

    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    if (asprintf(&name, "%.*s", (int)length, path) < 0 ||
        asprintf(&file, "%.*s/" NO_FILE, (int)length, path) < 0) {
        fail_open(path, "cannot open the spool folder", text_errno(ENOMEM), error);
    } else if (make_folder(name, path, error) &&
               !file_place_find(&place, file, why, sizeof(why))) {
        fail_place(path, why, error);
    }
    free(name);
    free(file);
    free(place.name); /* the caller keeps the folder */
    return place.folder;
}

bool
spool_open(struct spool *spool, const char *path, const struct spool_limits *limits,
           struct spool_error *error)
{
    *spool = (struct spool){.folder = -1, .lock_fd = -1, .limits = *limits};
    pthread_mutex_init(&spool->lock, NULL);
    spool->folder = open_folder(path, error);
    if (spool->folder < 0) {
        return false;
    }
    if (!is_private(spool->folder)) {
        return fail_open(path, "other users can write there",
                         "give the agent a folder of its own with --spool", error);
    }
    spool->lock_fd =
        openat(spool->folder, LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (spool->lock_fd < 0) {
        return fail_open(path, "cannot write there", text_errno(errno), error);
    }
    if (flock(spool->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        return fail_open(
            path, "another agent has this spool",
            "end it, or give this one a folder with --spool (an agent that was killed "
            "while a file system did not answer keeps its spool until the file system "
            "answers)",
            error);
    }
    remove_temporary(spool);
    return true;
}

void
spool_close(struct spool *spool)
{
    for (size_t i = 0; i < SPOOL_WAITING_MAX; i++) {
        free(spool->waiting[i].bytes);
    }
    if (spool->lock_fd >= 0) {
        close(spool->lock_fd);
    }
    if (spool->folder >= 0) {
        close(spool->folder);
    }
    pthread_mutex_destroy(&spool->lock);
}

void
spool_unlock(struct spool *spool)
{
    (void)flock(spool->lock_fd, LOCK_UN);
}

/* ---- writing ---- */

/* Make a rename in the folder durable. Returns 0 or a negative errno. Some file systems
 * have no fsync for folders (EINVAL), which is no failure. */
static int
sync_folder(const struct spool *spool)
{
    const int fd = openat(spool->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int result = fd < 0 || fsync(fd) != 0 ? -errno : 0;

    if (fd >= 0) {
        close(fd);
    }
    return result == -EINVAL ? 0 : result;
}

/* Write a window to its file: under a temporary name, which is renamed when the bytes
 * are on the disk. Returns 0, or a negative errno and no file. */
static int
write_window(const struct spool *spool, const struct spool_window *window)
{
    char temporary[SPOOL_NAME_BYTES + 8];
    int failure;
    int fd;

    snprintf(temporary, sizeof(temporary), ".%s" TEMPORARY, window->name);
    (void)unlinkat(spool->folder, temporary, 0);
    fd =
        openat(spool->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return -errno;
    }
    /* The umask may have taken bits of the mode away. */
    failure = fchmod(fd, 0600) == 0 &&
                      whole_file_write(fd, window->bytes, window->size) &&
                      fsync(fd) == 0
                  ? 0
                  : -errno;
    close(fd);
    if (failure == 0 &&
        renameat(spool->folder, temporary, spool->folder, window->name) != 0) {
        failure = -errno;
    }
    if (failure != 0) {
        (void)unlinkat(spool->folder, temporary, 0);
        return failure;
    }
    failure = sync_folder(spool);
    if (failure != 0) { /* the lock is held, so the sender has not taken it yet */
        (void)unlinkat(spool->folder, window->name, 0);
    }
    return failure;
}

/* Return the number of waiting windows, and get their bytes. */
static size_t
count_waiting(const struct spool *spool, uint64_t *bytes)
{
    size_t count = 0;

    *bytes = 0;
    while (count < SPOOL_WAITING_MAX && spool->waiting[count].bytes != NULL) {
        *bytes += spool->waiting[count++].size;
    }
    return count;
}

/* Remove the first of the waiting windows. */
static void
shift_waiting(struct spool *spool)
{
    free(spool->waiting[0].bytes);
    memmove(&spool->waiting[0], &spool->waiting[1],
            (SPOOL_WAITING_MAX - 1) * sizeof(spool->waiting[0]));
    spool->waiting[SPOOL_WAITING_MAX - 1] = (struct spool_window){.bytes = NULL};
}

/* Write the waiting windows in their order, as far as that succeeds. Returns 0 or a
 * negative errno. */
static int
write_waiting(struct spool *spool)
{
    while (spool->waiting[0].bytes != NULL) {
        const int failure = write_window(spool, &spool->waiting[0]);

        if (failure != 0) {
            spool->statistics.failures++;
            snprintf(spool->failure, sizeof(spool->failure), "%s",
                     text_errno(-failure));
            return failure;
        }
        spool->statistics.written++;
        shift_waiting(spool);
    }
    spool->failure[0] = '\0';
    return 0;
}

/* Delete the oldest file, but not one that the sender has taken. Returns false if there
 * is none. */
static bool
drop_oldest_file(struct spool *spool)
{
    struct entry *list;
    const size_t count = list_windows(spool, &list);
    bool dropped = false;

    for (size_t i = 0; !dropped && i < count; i++) {
        dropped = strcmp(list[i].name, spool->taken) != 0 &&
                  unlinkat(spool->folder, list[i].name, 0) == 0;
    }
    free(list);
    spool->statistics.dropped += dropped;
    return dropped;
}

/* Return whether one more window of this size cannot wait in memory. */
static bool
lacks_room(const struct spool *spool, size_t size)
{
    uint64_t bytes;
    const size_t count = count_waiting(spool, &bytes);

    return count == SPOOL_WAITING_MAX ||
           (count > 0 && bytes + size > SPOOL_WAITING_BYTES_MAX);
}

/* Make room in memory for one more window. If the disk is full, the oldest files are
 * deleted, so that the waiting windows can be written. If writing fails for another
 * reason, deleting files would not help: they stay, and the window that has waited
 * longest is dropped. */
static void
make_room(struct spool *spool, size_t size)
{
    while (lacks_room(spool, size)) {
        const int failure = write_waiting(spool);

        if (failure != 0 &&
            ((failure != -ENOSPC && failure != -EDQUOT) || !drop_oldest_file(spool))) {
            shift_waiting(spool);
            spool->statistics.dropped++;
        }
    }
}

bool
spool_put(struct spool *spool, uint64_t start_ns, const char *epoch, void *bytes,
          size_t size)
{
    struct spool_window *added;
    uint64_t used;
    bool written;

    pthread_mutex_lock(&spool->lock);
    make_room(spool, size);
    assert(count_waiting(spool, &used) < SPOOL_WAITING_MAX);
    added = &spool->waiting[count_waiting(spool, &used)];
    added->bytes = bytes;
    added->size = size;
    snprintf(added->name, sizeof(added->name), "%0*" PRIu64 "-%.32s" SUFFIX,
             START_DIGITS, start_ns, epoch);
    written = write_waiting(spool) == 0;
    pthread_mutex_unlock(&spool->lock);
    return written;
}

bool
spool_retry(struct spool *spool)
{
    bool written;

    pthread_mutex_lock(&spool->lock);
    written = write_waiting(spool) == 0;
    pthread_mutex_unlock(&spool->lock);
    return written;
}

void
spool_drop_excess(struct spool *spool)
{
    struct entry *list;
    size_t count;
    size_t left;
    uint64_t bytes = 0;

    pthread_mutex_lock(&spool->lock);
    count = list_windows(spool, &list);
    for (size_t i = 0; i < count; i++) {
        bytes += list[i].bytes;
    }
    left = count;
    for (size_t i = 0; i < count; i++) {
        if ((left > spool->limits.windows || bytes > spool->limits.bytes) &&
            strcmp(list[i].name, spool->taken) != 0 &&
            unlinkat(spool->folder, list[i].name, 0) == 0) {
            bytes -= list[i].bytes;
            left--;
            spool->statistics.dropped++;
        }
    }
    free(list);
    pthread_mutex_unlock(&spool->lock);
}

/* ---- reading ---- */

/* Read a whole file. Returns NULL with errno set: EINVAL if it is no regular file,
 * EFBIG if it is too large, EIO if it became shorter meanwhile. */
static void *
read_window(const struct spool *spool, const char *name, size_t *size)
{
    const int fd =
        openat(spool->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    char *bytes = NULL;
    size_t used = 0;
    ssize_t more = 1;

    int error;

    if (fd >= 0 && fstat(fd, &status) == 0) {
        errno = S_ISREG(status.st_mode) ? EFBIG : EINVAL;
        if (S_ISREG(status.st_mode) && status.st_size <= file_bytes_max) {
            *size = (size_t)status.st_size;
            bytes = malloc(*size + 1);
        }
    }
    while (bytes != NULL && more > 0 && used < *size) {
        errno = EIO; /* stays if read returns 0 */
        more = read(fd, bytes + used, *size - used);
        used += more > 0 ? (size_t)more : 0;
    }
    error = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (bytes != NULL && used < *size) {
        free(bytes);
        bytes = NULL;
    }
    errno = error;
    return bytes;
}

/* Return whether an entry of the folder is a regular file. Some file systems do not
 * list the type with the name. */
static bool
is_regular(const struct spool *spool, const struct dirent *file)
{
    struct stat status;

    if (file->d_type != DT_UNKNOWN) {
        return file->d_type == DT_REG;
    }
    return fstatat(spool->folder, file->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode);
}

/* Find the oldest window behind a name. Returns false if there is none. The sender
 * calls this for each window, and a long outage leaves tens of thousands, so it does
 * not sort them. */
static bool
find_next(const struct spool *spool, const char *after, char next[SPOOL_NAME_BYTES])
{
    DIR *const folder = open_listing(spool);
    const struct dirent *found;

    next[0] = '\0';
    while (folder != NULL && (found = readdir(folder)) != NULL) {
        if (is_window(found->d_name) && !is_refused(found->d_name) &&
            is_regular(spool, found) && strcmp(found->d_name, after) > 0 &&
            (next[0] == '\0' || strcmp(found->d_name, next) < 0)) {
            snprintf(next, SPOOL_NAME_BYTES, "%s", found->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return next[0] != '\0';
}

bool
spool_take(struct spool *spool, const char *after, char name[SPOOL_NAME_BYTES],
           void **bytes, size_t *size)
{
    char next[SPOOL_NAME_BYTES];
    bool found;

    pthread_mutex_lock(&spool->lock);
    found = find_next(spool, after, next);
    if (found) {
        snprintf(name, SPOOL_NAME_BYTES, "%s", next);
        snprintf(spool->taken, sizeof(spool->taken), "%s", next);
        *bytes = read_window(spool, next, size);
    }
    pthread_mutex_unlock(&spool->lock);
    return found;
}

bool
spool_done(struct spool *spool, const char *name, enum spool_fate fate)
{
    char aside[SPOOL_NAME_BYTES + sizeof(REFUSED)];
    int result = 0;

    pthread_mutex_lock(&spool->lock);
    if (fate == SPOOL_REMOVE) {
        result = unlinkat(spool->folder, name, 0);
    } else if (fate == SPOOL_SET_ASIDE) {
        snprintf(aside, sizeof(aside), REFUSED "%s", name);
        result = renameat(spool->folder, name, spool->folder, aside);
    }
    spool->taken[0] = '\0';
    pthread_mutex_unlock(&spool->lock);
    return result == 0 || errno == ENOENT;
}

void
spool_get_statistics(struct spool *spool, struct spool_statistics *statistics)
{
    struct entry *list;
    uint64_t unused;
    size_t count;

    pthread_mutex_lock(&spool->lock);
    *statistics = spool->statistics;
    count = list_windows(spool, &list);
    for (size_t i = 0; i < count; i++) {
        statistics->files += !is_refused(list[i].name);
        statistics->refused += is_refused(list[i].name);
        statistics->bytes += list[i].bytes;
    }
    statistics->waiting = count_waiting(spool, &unused);
    free(list);
    pthread_mutex_unlock(&spool->lock);
}
