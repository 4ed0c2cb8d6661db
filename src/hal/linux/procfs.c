/* SPDX-License-Identifier: MIT */
/* hal/linux/procfs.c - reads a file of /proc into memory, then parses the copy. */
#include "hal/linux/procfs.h"

#include "hal/linux/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES = 65536, PATH_BYTES = 64 }; /* of one read(); of a path in /proc */

/* If threads start or exit during a reading, all are read again: at most READINGS_MAX
 * times, and until ENTRIES_MAX entries have been read. */
enum { READINGS_MAX = 100, ENTRIES_MAX = 20000 };

/* The kernel's PF_EXITING: the thread runs no user code and makes no other thread. */
enum { FLAG_EXITING = 4 };

/* What /proc/PID/task/TID/stat contains about a thread. */
struct thread_stat {
    char state;
    uint32_t flags;
    size_t threads; /* of its process */
};

/* ---- lists of numbers ---- */

int
perf_tids_add(struct perf_tids *tids, uint32_t tid)
{
    uint32_t *const items = perf_array_grow(tids->items, tids->count, sizeof(*items));

    if (items == NULL) {
        return -ENOMEM;
    }
    tids->items = items;
    tids->items[tids->count++] = tid;
    return 0;
}

bool
perf_tids_contain(const struct perf_tids *tids, uint32_t tid)
{
    for (size_t i = 0; i < tids->count; i++) {
        if (tids->items[i] == tid) {
            return true;
        }
    }
    return false;
}

void
perf_tids_finish(struct perf_tids *tids)
{
    free(tids->items);
    *tids = (struct perf_tids){0};
}

/* ---- reading files ---- */

bool
perf_is_shortage(int result)
{
    return result == -EMFILE || result == -ENFILE || result == -ENOMEM;
}

/* Convert errno of a file below /proc/PID: a missing file means a missing process. */
static int
process_errno(int error)
{
    return error == ENOENT ? -ESRCH : -error;
}

int
perf_read_text(int directory, const char *path, char **text)
{
    const int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    char *buffer = NULL;
    size_t used = 0;
    ssize_t got = 0;
    int result = 0;

    if (fd < 0) {
        return process_errno(errno);
    }
    do {
        char *const larger = realloc(buffer, used + READ_BYTES + 1);

        if (larger == NULL) {
            result = -ENOMEM;
            break;
        }
        buffer = larger;
        got = read(fd, buffer + used, READ_BYTES);
        if (got < 0) {
            result = process_errno(errno);
            break;
        }
        used += (size_t)got;
    } while (got > 0);
    close(fd);
    if (result < 0) {
        free(buffer);
        return result;
    }
    buffer[used] = 0;
    *text = buffer;
    return 0;
}

/* Do what perf_read_text does with a thread's file. */
static int
read_thread_text(uint32_t pid, uint32_t tid, const char *name, char **text)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/%s", pid, tid,
             name);
    return perf_read_text(AT_FDCWD, path, text);
}

/* ---- threads and processes ---- */

/* Read a directory whose numeric entries are pids or tids. They replace those in tids
 * from index first on. */
static int
read_numbers(DIR *directory, struct perf_tids *tids, size_t first)
{
    const struct dirent *entry;
    int result = 0;

    rewinddir(directory);
    tids->count = first;
    while (result == 0 && (entry = readdir(directory)) != NULL) {
        const unsigned long tid = strtoul(entry->d_name, NULL, 10);

        if (tid != 0) {
            result = perf_tids_add(tids, (uint32_t)tid);
        }
    }
    return result;
}

/* Read what /proc says of a thread. Returns 0 or negative errno: -ESRCH if there is no
 * such thread (any more). */
static int
read_stat(uint32_t pid, uint32_t tid, struct thread_stat *stat)
{
    const char *behind_name;
    char *text;
    int result = read_thread_text(pid, tid, "stat", &text);

    if (result < 0) {
        return result;
    }
    /* "12 (name) S ...": the name may contain any character. */
    behind_name = strrchr(text, ')');
    if (behind_name == NULL ||
        sscanf(behind_name + 1,
               " %c %*s %*s %*s %*s %*s %" SCNu32
               " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %zu",
               &stat->state, &stat->flags, &stat->threads) != 3) {
        result = -EIO;
    }
    free(text);
    return result;
}

/*
 * Were the tids from index first on all threads of the process at one instant? While
 * the kernel lists threads, it may skip some when the thread that it has reached exits.
 * The listing was complete if afterwards the process has as many threads, and each that
 * was listed still exists. Returns 1 if so, 0 if not, or negative errno.
 */
static int
is_complete(DIR *directory, uint32_t pid, const struct perf_tids *tids, size_t first)
{
    struct thread_stat stat;
    const int result = read_stat(pid, pid, &stat);

    if (perf_is_shortage(result)) {
        return result;
    }
    if (result < 0 || stat.threads != tids->count - first) {
        return 0;
    }
    for (size_t i = first; i < tids->count; i++) {
        char name[PATH_BYTES];

        snprintf(name, sizeof(name), "%" PRIu32, tids->items[i]);
        if (faccessat(dirfd(directory), name, F_OK, 0) != 0) {
            return 0;
        }
    }
    return 1;
}

int
perf_procfs_threads(uint32_t pid, struct perf_tids *tids)
{
    const size_t first = tids->count;
    char path[PATH_BYTES];
    DIR *directory;
    size_t read = 0;
    int result = 0; /* 0: incomplete, 1: complete */

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
    directory = opendir(path);
    if (directory == NULL) {
        return process_errno(errno);
    }
    for (int i = 0; result == 0 && i < READINGS_MAX && read < ENTRIES_MAX; i++) {
        result = read_numbers(directory, tids, first);
        read += tids->count - first;
        if (result == 0) {
            result = tids->count > first ? is_complete(directory, pid, tids, first) : 1;
        }
    }
    closedir(directory);
    return result < 0 ? result : result == 0;
}

int
perf_procfs_processes(struct perf_tids *pids)
{
    DIR *const directory = opendir("/proc");
    int result;

    if (directory == NULL) {
        return -errno;
    }
    result = read_numbers(directory, pids, pids->count);
    closedir(directory);
    return result;
}

/* Add the children of one thread; none on a kernel without such files. Returns 0 or
 * negative errno. */
static int
read_children(uint32_t pid, uint32_t tid, struct perf_tids *pids)
{
    char *text;
    char *end;
    int result = read_thread_text(pid, tid, "children", &text);

    if (result < 0) {
        return perf_is_shortage(result) ? result : 0;
    }
    for (const char *at = text; result == 0; at = end) { /* "12 13 " */
        const unsigned long child = strtoul(at, &end, 10);

        if (end == at) {
            break;
        }
        result = perf_tids_add(pids, (uint32_t)child);
    }
    free(text);
    return result;
}

int
perf_procfs_children(uint32_t pid, struct perf_tids *pids)
{
    struct perf_tids tids = {0};
    const int missing = perf_procfs_threads(pid, &tids);
    int result = perf_is_shortage(missing) ? missing : 0;

    for (size_t i = 0; result == 0 && i < tids.count; i++) {
        result = read_children(pid, tids.items[i], pids);
    }
    perf_tids_finish(&tids);
    return result == 0 && missing > 0 ? missing : result;
}

void
perf_procfs_name(uint32_t pid, char *name, size_t bytes)
{
    char path[PATH_BYTES];
    size_t length;
    char *text;

    name[0] = 0;
    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
    if (perf_read_text(AT_FDCWD, path, &text) < 0) {
        return;
    }
    /* Linux adds a newline; the name itself may contain others. */
    length = strlen(text);
    if (length > 0 && text[length - 1] == '\n') {
        text[length - 1] = 0;
    }
    snprintf(name, bytes, "%s", text);
    free(text);
}

/* ---- mappings ---- */

/* Make newlines of \012, by which proc writes those of a path; perf's records have the
 * newline. */
static void
unescape_newlines(char *text)
{
    char *to = text;

    for (const char *from = text; *from != 0;) {
        if (strncmp(from, "\\012", 4) == 0) {
            *to++ = '\n';
            from += 4;
        } else {
            *to++ = *from++;
        }
    }
    *to = 0;
}

/* Add the mapping of a line, if it is executable. The line is
 * "base-end rwxp offset major:minor inode   path". */
static int
parse_line(char *line, struct perf_mappings *mappings)
{
    uint64_t base, end, offset, inode;
    uint32_t device_major, device_minor;
    char access[5];
    int name_at = 0;
    char *name;
    struct perf_image *image;
    int result;

    if (sscanf(line,
               "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32
               " %" SCNu64 " %n",
               &base, &end, access, &offset, &device_major, &device_minor, &inode,
               &name_at) < 7 ||
        name_at == 0 || end <= base || strchr(access, 'x') == NULL) {
        return 0;
    }
    name = line + name_at;
    unescape_newlines(name);
    image = perf_image_create(*name != 0 ? name : "//anon", device_major, device_minor,
                              inode, 0);
    if (image == NULL) {
        return -ENOMEM;
    }
    result = perf_mappings_insert(mappings, (struct perf_mapping){.base = base,
                                                                  .length = end - base,
                                                                  .file_offset = offset,
                                                                  .image = image});
    /* If mappings changed during the reading, two lines may overlap: keep the first. */
    return result == -EINVAL ? 0 : result;
}

int
perf_procfs_parse_mappings(char *text, struct perf_mappings *mappings)
{
    char *line = text;

    while (*line != 0) {
        char *end = line + strcspn(line, "\n");
        const bool last = *end == 0;

        *end = 0;
        if (parse_line(line, mappings) < 0) {
            perf_mappings_finish(mappings);
            return -ENOMEM;
        }
        line = last ? end : end + 1;
    }
    return 0;
}

int
perf_procfs_mappings(uint32_t pid, uint32_t tid, struct perf_mappings *mappings)
{
    char *text;
    int result = read_thread_text(pid, tid, "maps", &text);

    if (result < 0) {
        return result;
    }
    result = perf_procfs_parse_mappings(text, mappings);
    free(text);
    return result;
}

/* ---- a process as a whole ---- */

char
perf_procfs_state(uint32_t pid, uint32_t tid)
{
    struct thread_stat stat;

    return read_stat(pid, tid, &stat) == 0 ? stat.state : 0;
}

bool
perf_pidfd_has_exited(int pidfd)
{
    struct pollfd descriptor = {.fd = pidfd, .events = POLLIN};

    return pidfd >= 0 && poll(&descriptor, 1, 0) > 0;
}

/* Remove exiting threads from tids: their EXIT records may have been written already,
 * and then nothing would remove them from the process table. */
static void
drop_exiting(uint32_t pid, struct perf_tids *tids)
{
    size_t kept = 0;

    for (size_t i = 0; i < tids->count; i++) {
        struct thread_stat stat;
        const int result = read_stat(pid, tids->items[i], &stat);

        if (result != -ESRCH && (result < 0 || (stat.flags & FLAG_EXITING) == 0)) {
            tids->items[kept++] = tids->items[i];
        }
    }
    tids->count = kept;
}

/* Read the process's mappings through the first of these threads that is not exiting,
 * and remove exiting ones from tids. Returns 0, with no mappings for a kernel thread, 1
 * if no thread is left, or negative errno. */
static int
read_mappings_of(uint32_t pid, struct perf_tids *tids, struct perf_mappings *mappings)
{
    drop_exiting(pid, tids);
    while (tids->count > 0) {
        const uint32_t tid = tids->items[0];
        const int result = perf_procfs_mappings(pid, tid, mappings);

        if (result == 0 && mappings->count > 0) {
            return 0;
        }
        drop_exiting(pid, tids);
        if (tids->count > 0 && tids->items[0] == tid) { /* it has not exited */
            return result == -ESRCH ? 0 : result;       /* 0: it has no mappings */
        }
    }
    return 1;
}

int
perf_procfs_read(uint32_t pid, struct perf_reading *reading)
{
    struct perf_tids *const tids = &reading->tids;
    int alone = 0;  /* readings that found only the main thread, exiting */
    int result = 1; /* 1: read again */

    *reading = (struct perf_reading){0};
    for (int i = 0; result > 0 && i < READINGS_MAX; i++) {
        bool only_main;

        tids->count = 0;
        result = perf_procfs_threads(pid, tids);
        only_main = tids->count == 1;
        if (result == 0) {
            result = read_mappings_of(pid, tids, &reading->mappings);
            alone += result > 0 && only_main;
        }
        /* The second such reading: the main thread has made no other in between. */
        if (alone == 2) {
            result = perf_procfs_state(pid, pid) != 0 ? -ECHILD : -ESRCH;
        }
    }
    perf_procfs_name(pid, reading->name, sizeof(reading->name));
    return result > 0 ? -EAGAIN : result;
}

void
perf_reading_finish(struct perf_reading *reading)
{
    perf_tids_finish(&reading->tids);
    perf_mappings_finish(&reading->mappings);
}

/* ---- settings ---- */

uint64_t
perf_procfs_pid_namespace(uint32_t pid)
{
    char path[PATH_BYTES];
    struct stat file;

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/ns/pid", pid);
    return stat(pid != 0 ? path : "/proc/self/ns/pid", &file) == 0 ? file.st_ino : 0;
}

uint64_t
perf_procfs_available_bytes(void)
{
    static const char name[] = "\nMemAvailable:";
    uint64_t kilobytes = 0;
    const char *line;
    char *text;

    if (perf_read_text(AT_FDCWD, "/proc/meminfo", &text) < 0) {
        return UINT64_MAX;
    }
    line = strstr(text, name);
    if (line != NULL) {
        kilobytes = strtoull(line + sizeof(name) - 1, NULL, 10);
    }
    free(text);
    return kilobytes == 0 || kilobytes > UINT64_MAX / 1024 ? UINT64_MAX
                                                           : kilobytes * 1024;
}

long
perf_procfs_setting(const char *name, long fallback)
{
    char path[PATH_BYTES * 2];
    char *text;
    char *end;
    long value;

    snprintf(path, sizeof(path), "/proc/sys/%s", name);
    if (perf_read_text(AT_FDCWD, path, &text) < 0) {
        return fallback;
    }
    value = strtol(text, &end, 10);
    if (end == text) {
        value = fallback;
    }
    free(text);
    return value;
}
