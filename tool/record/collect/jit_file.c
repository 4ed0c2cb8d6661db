/* SPDX-License-Identifier: MIT */
/* jit_file.c - finds and opens perf maps in limited time. A call that exceeds its time
 * continues in its own thread after the caller has given up, so it works on duplicates
 * of the descriptors that it gets. */
#include "record/collect/jit_file.h"

#include "base/open_regular.h"
#include "base/time_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Close a descriptor unless it is negative. */
static void
close_any(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

/* Mount namespaces are told apart by their numbers, which stat gives without waiting
 * for a file system. */
uint64_t
jit_file_key(const uint32_t *pids, size_t count)
{
    uint64_t mounts = pids[0];
    bool found = false;

    for (size_t i = 0; !found && i < count; i++) {
        struct stat status;
        char path[40];

        snprintf(path, sizeof(path), "/proc/%" PRIu32 "/ns/mnt", pids[i]);
        found = stat(path, &status) == 0;
        mounts = found ? status.st_ino : mounts;
    }
    return UINT64_C(1) << 63 | mounts; /* unlike the key of any device */
}

/* ---- What leads to a perf map ---- */

/* reading - a call that reads a sym_perf_target, made by another thread with a time
 * limit. */
struct reading {
    uint32_t pids[JIT_FILE_PIDS_MAX];
    size_t count;
    struct sym_perf_target target;
    struct root folder;
    int error;
};

/* Read what leads to the perf map of the first process or, if it has exited, to that of
 * an ancestor in our pid namespace. Returns 0, or -ESRCH if nothing can be read. */
static int
read_target(const uint32_t *pids, size_t count, struct sym_perf_target *target)
{
    if (sym_perf_target_read(pids[0], target) == 0) {
        return 0;
    }
    for (size_t i = 1; i < count; i++) {
        if (sym_perf_target_read(pids[i], target) == 0) {
            target->pid = pids[0];
            target->ancestor = true;
            target->started_s = 0;
            if (!target->inside) {
                return 0;
            }
            close_any(target->folder);
        }
    }
    return -ESRCH;
}

/* Read the target of a struct reading, and device and inode of its folder:
 * time_limit_run calls it in a thread. */
static void
reading_work(void *argument)
{
    struct reading *const reading = argument;

    reading->error = read_target(reading->pids, reading->count, &reading->target);
    if (reading->error != 0 || reading->target.folder < 0) {
        return;
    }
    reading->folder.fd = reading->target.folder;
    if (!roots_stat(&reading->folder)) {
        reading->target.folder = -errno;
        close(reading->folder.fd);
        reading->folder.fd = -1;
    }
}

/* Free a struct reading whose caller has given up waiting. */
static void
reading_drop(void *argument)
{
    struct reading *const reading = argument;

    close_any(reading->folder.fd);
    free(reading);
}

int
jit_file_read_target(uint64_t key, const uint32_t *pids, size_t count,
                     struct sym_perf_target *target, struct root *folder)
{
    struct reading *const reading = calloc(1, sizeof(*reading));
    int error;

    if (reading == NULL) {
        return -ENOMEM;
    }
    memcpy(reading->pids, pids, count * sizeof(*pids));
    reading->count = count;
    reading->folder.fd = -1;
    if (time_limit_run(key, reading_work, reading_drop, reading) != 0) {
        return -ETIMEDOUT;
    }
    *target = reading->target;
    *folder = reading->folder;
    error = reading->error;
    free(reading);
    return error;
}

/* ---- Opening it ---- */

/* opening - a call that opens a perf map, made by another thread with a time limit. */
struct opening {
    struct jit_file asked; /* with duplicates of its descriptors */
    int error;
};

/* Read the user of a running process again, since it may have changed, and store a new
 * one in *target. Returns false if it is the same, or the process has exited. */
static bool
read_user(uint32_t pid, struct sym_perf_target *target)
{
    struct sym_perf_target now;
    bool changed;

    if (sym_perf_target_read(pid, &now) != 0) {
        return false;
    }
    close_any(now.folder);
    changed = now.pid == target->pid &&
              (now.uid != target->uid || now.root_uid != target->root_uid);
    if (changed) {
        target->uid = now.uid;
        target->root_uid = now.root_uid;
    }
    return changed;
}

/* Open the perf map by its name, which fails with -EPERM if it is not owned by the user
 * of the process: once more if that user has changed. User and /tmp of an ancestor may
 * be others than the process's: -ESRCH instead of -EPERM and -ENOENT. Returns 0 or a
 * negative errno. */
static int
open_by_name(struct jit_file *asked)
{
    int error = sym_perf_file_open(&asked->target, &asked->file);

    if (asked->target.ancestor && (error == -EPERM || error == -ENOENT)) {
        return -ESRCH;
    }
    if (error == -EPERM && read_user(asked->pid, &asked->target)) {
        error = sym_perf_file_open(&asked->target, &asked->file);
    }
    return error;
}

/* Open the perf map of a process that exited before anything was read of it, as a
 * file of ours in our own /tmp. One of another user may be the map of another
 * process: -ESRCH instead of -EPERM, since nothing is known of its user. Returns 0 or
 * a negative errno. */
static int
open_guessed(struct jit_file *asked)
{
    int error;

    sym_perf_target_guess(asked->pid, &asked->target);
    error = sym_perf_file_open(&asked->target, &asked->file);
    return error == -EPERM ? -ESRCH : error;
}

/* Open the perf map that was kept. Returns 0 or a negative errno. */
static int
open_kept(struct jit_file *asked)
{
    const int fd = sym_open_found(asked->kept);
    struct stat status;
    int error;

    if (fd < 0) {
        return fd;
    }
    if (fstat(fd, &status) != 0) {
        error = errno;
        close(fd);
        return -error;
    }
    asked->file = (struct sym_perf_file){fd, status.st_dev, status.st_ino,
                                         (uint64_t)status.st_size};
    return 0;
}

/* Open the file of a descriptor once more by O_PATH, for jit.c to keep. Returns the new
 * descriptor, or -1. */
static int
open_path_fd(int fd)
{
    char link[64];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return open(link, O_PATH | O_CLOEXEC);
}

/* Open the perf map of a struct opening: by its name, else the one that was kept.
 * time_limit_run calls it in a thread. */
static void
opening_work(void *argument)
{
    struct opening *const opening = argument;
    struct jit_file *const asked = &opening->asked;

    opening->error = asked->guessed ? open_guessed(asked) : open_by_name(asked);
    if (opening->error == 0) {
        asked->path_fd = open_path_fd(asked->file.fd);
        return;
    }
    asked->file.fd = -1;
    if (asked->kept >= 0) {
        opening->error = open_kept(asked);
    } else if (asked->kept != -1) {
        opening->error = asked->kept; /* why it could not be duplicated */
    }
}

/* Free the call and its duplicates of the caller's descriptors. */
static void
opening_free(struct opening *opening)
{
    close_any(opening->asked.target.folder);
    close_any(opening->asked.kept);
    free(opening);
}

/* Free a struct opening whose caller has given up waiting, and close what it opened. */
static void
opening_drop(void *argument)
{
    struct opening *const opening = argument;

    close_any(opening->asked.file.fd);
    close_any(opening->asked.path_fd);
    opening_free(opening);
}

/* Duplicate a descriptor. Returns a negative errno if that fails; a negative argument
 * is returned unchanged. */
static int
duplicate(int fd)
{
    const int copy = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);

    return fd >= 0 && copy < 0 ? -errno : copy;
}

int
jit_file_open(uint64_t key, struct jit_file *file)
{
    struct opening *const opening = calloc(1, sizeof(*opening));
    int error;

    if (opening == NULL) {
        return -ENOMEM;
    }
    opening->asked = *file;
    opening->asked.target.folder = duplicate(file->target.folder);
    opening->asked.kept = duplicate(file->kept);
    opening->asked.file.fd = opening->asked.path_fd = -1;
    if (time_limit_run(key, opening_work, opening_drop, opening) != 0) {
        return -ETIMEDOUT;
    }
    file->target.uid = opening->asked.target.uid;
    file->target.root_uid = opening->asked.target.root_uid;
    file->file = opening->asked.file;
    file->path_fd = opening->asked.path_fd;
    error = opening->error;
    opening_free(opening);
    return error;
}
