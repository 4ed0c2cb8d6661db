/* SPDX-License-Identifier: MIT */
/* section_cache.c - files with names such as sections-1-fe01-1d4c6-3f94f0-..., the
 * oldest of which make room for new ones. */
#include "symbols/client/section_cache.h"

#include "base/clock.h"
#include "base/command_log.h"
#include "base/private_folder.h"
#include "base/whole_file.h"
#include "symbols/border/protocol.h"
#include "symbols/client/readers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* What the names of all files begin with; those of their parts while they are written
 * (base/whole_file.h) have a dot before it. */
#define PREFIX "sections-"

/* Of the form of the files: another one gets another number. */
enum { FORM = 1 };

enum { NAME_BYTES = 128 };

/* Limits of a process that unpacks a file. */
#define MEMORY_MAX (SECTION_CACHE_FILE_BYTES_MAX + (UINT64_C(64) << 20))
#define CPU_NS_MAX (10 * CLOCK_SECOND_NS)

bool
section_cache_folder(char *path, size_t size, const char **why)
{
    const char *const cache = secure_getenv("XDG_CACHE_HOME");
    const char *const home = secure_getenv("HOME");
    int length = 0;

    if (geteuid() == 0 && getuid() == 0) {
        length = snprintf(path, size, "/var/cache/ntprof");
    } else if (geteuid() == 0 || getauxval(AT_SECURE) != 0) {
        *why = "ntprof has more rights than its caller";
    } else if (cache != NULL && cache[0] == '/') {
        length = snprintf(path, size, "%s/ntprof", cache);
    } else if (home != NULL && home[0] == '/') {
        length = snprintf(path, size, "%s/.cache/ntprof", home);
    } else {
        *why = "neither XDG_CACHE_HOME nor HOME is an absolute path";
    }
    if (length > 0 && (size_t)length >= size) {
        *why = "its path is too long";
    }
    return length > 0 && (size_t)length < size;
}

/* --- names --- */

/* Make the name of the image of a file. What the kernel has cached of the file is
 * enough: to ask the server of a network file system could block. Returns false if the
 * file may be changed by others than root and the caller, or is not known. */
static bool
make_name(const struct section_wanted *wanted, char name[NAME_BYTES])
{
    struct statx status;

    if (statx(wanted->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS,
              &status) != 0 ||
        !S_ISREG(status.stx_mode) || (status.stx_mode & 022) != 0 ||
        (status.stx_uid != 0 && status.stx_uid != geteuid()) || status.stx_ino == 0) {
        return false;
    }
    snprintf(name, NAME_BYTES,
             PREFIX "%d-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 ".%09" PRIu32
                    "%s",
             FORM, (uint64_t)makedev(status.stx_dev_major, status.stx_dev_minor),
             (uint64_t)status.stx_ino, (uint64_t)status.stx_size,
             (uint64_t)status.stx_ctime.tv_sec, status.stx_ctime.tv_nsec,
             wanted->split ? "-split" : "");
    return true;
}

/* Whether a name is that of a file of a cache. */
static bool
is_name(const char *name)
{
    name += name[0] == '.';
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0;
}

/* --- all files --- */

/* Read the next file of a folder, and get its status. Returns its name, or NULL. */
static const char *
next_file(DIR *folder, struct stat *status)
{
    const struct dirent *entry;

    while ((entry = readdir(folder)) != NULL) {
        if (is_name(entry->d_name) &&
            fstatat(dirfd(folder), entry->d_name, status, AT_SYMLINK_NOFOLLOW) == 0) {
            return entry->d_name;
        }
    }
    return NULL;
}

/* Remove the file that was used longest ago. Returns false if there is none, or it
 * cannot be removed. */
static bool
remove_oldest(DIR *folder)
{
    struct timespec least = {.tv_sec = INT64_MAX};
    char oldest[NAME_MAX + 1] = "";
    struct stat status;
    const char *name;

    rewinddir(folder);
    while ((name = next_file(folder, &status)) != NULL) {
        const struct timespec *const used = &status.st_mtim;

        if (used->tv_sec < least.tv_sec ||
            (used->tv_sec == least.tv_sec && used->tv_nsec < least.tv_nsec)) {
            least = *used;
            snprintf(oldest, sizeof(oldest), "%s", name);
        }
    }
    return oldest[0] != '\0' && unlinkat(dirfd(folder), oldest, 0) == 0;
}

/* Add up the files of a folder. */
static void
measure(DIR *folder, struct section_cache_size *found)
{
    struct stat status;

    *found = (struct section_cache_size){0};
    rewinddir(folder);
    while (next_file(folder, &status) != NULL) {
        found->files++;
        found->bytes += (uint64_t)status.st_size;
    }
}

/* Open a folder to list it, by its path. Returns NULL with *why, which is NULL if there
 * is no such folder. */
static DIR *
open_list(const char *cache, const char **why)
{
    struct stat status;
    const int fd = private_folder_open(cache, why);
    DIR *const folder = fd < 0 ? NULL : fdopendir(fd);

    if (fd < 0 && lstat(cache, &status) != 0 && errno == ENOENT) {
        *why = NULL;
    } else if (fd >= 0 && folder == NULL) {
        *why = strerror(errno);
        close(fd);
    }
    return folder;
}

/* Remove files until there is room for so many bytes more. Returns NULL, or the reason
 * why there is none. */
static const char *
make_room(const char *cache, uint64_t bytes)
{
    const char *why;
    DIR *const folder = open_list(cache, &why);
    struct section_cache_size found;
    bool possible = true;

    if (folder == NULL) {
        return why != NULL ? why : "the folder is gone";
    }
    while (possible) {
        measure(folder, &found);
        if (found.bytes <= SECTION_CACHE_BYTES_MAX - bytes) {
            break;
        }
        possible = remove_oldest(folder);
    }
    closedir(folder);
    return possible ? NULL : "old files cannot be removed to make room";
}

bool
section_cache_measure(const char *cache, struct section_cache_size *found,
                      const char **why)
{
    DIR *const folder = open_list(cache, why);

    *found = (struct section_cache_size){0};
    if (folder == NULL) {
        return *why == NULL;
    }
    measure(folder, found);
    closedir(folder);
    return true;
}

bool
section_cache_clear(const char *cache, struct section_cache_size *removed,
                    const char **why)
{
    DIR *const folder = open_list(cache, why);
    struct stat status;
    const char *name;
    int error = 0;

    *removed = (struct section_cache_size){0};
    if (folder == NULL) {
        return *why == NULL;
    }
    while ((name = next_file(folder, &status)) != NULL) {
        if (unlinkat(dirfd(folder), name, 0) == 0) {
            removed->files++;
            removed->bytes += (uint64_t)status.st_size;
        } else {
            error = errno;
        }
    }
    closedir(folder);
    *why = strerror(error);
    return error == 0;
}

/* --- one file --- */

/* Receive an image of the size that is wanted, and write it. Returns false if the
 * process sends another one. */
static bool
receive(struct wire *wire, const struct section_wanted *wanted, FILE *to)
{
    uint64_t left = wanted->bytes;

    if (wire_get(wire) != left) {
        return false;
    }
    while (left > 0) {
        size_t size;
        const void *const part = wire_get_bytes(
            wire, left < SECTIONS_PART_BYTES ? left : SECTIONS_PART_BYTES, &size);

        if (part == NULL || size == 0) {
            return false;
        }
        (void)fwrite(part, 1, size, to); /* failures are reported by whole_file */
        left -= size;
    }
    return true;
}

/* Have a process unpack the sections, and write them. Returns NULL, or the reason why
 * it failed. */
static const char *
unpack(const struct section_wanted *wanted, FILE *to, uint64_t *cpu_ns)
{
    const struct sandbox_limits limits = {MEMORY_MAX, CPU_NS_MAX};
    struct sandbox_process process;
    const int error = readers_start(&process, READER_SECTIONS, &limits);
    bool received;
    bool failed;

    if (error != 0) {
        return strerror(-error);
    }
    wire_put(&process.wire, wanted->split);
    wire_send(&process.wire, wanted->fd);
    received = receive(&process.wire, wanted, to);
    failed = process.wire.failed;
    sandbox_stop(&process);
    *cpu_ns += process.seen_ns;
    return received ? NULL
           : failed ? sandbox_why(&process)
                    : "the reader that wants them says another size";
}

/* Remove a pipe or link of this name: whole_file would write into it. */
static void
remove_other_kind(int folder, const char *name)
{
    struct stat status;

    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISREG(status.st_mode)) {
        (void)unlinkat(folder, name, 0);
    }
}

/* Make the file of this name. One that is there and not used is replaced, and old ones
 * of other names make room, but not before all is written: a reader may say any size.
 * Returns false if that fails. */
static bool
make_file(int folder, const char *cache, const char *name,
          const struct section_wanted *wanted, uint64_t *cpu_ns)
{
    struct whole_file_error error = {""};
    struct whole_file file;
    const char *why = NULL;
    char path[PATH_MAX];
    bool written = false;

    snprintf(path, sizeof(path), "%s/%s", cache, name);
    remove_other_kind(folder, name);
    if (whole_file_check(path, "cache", &error) &&
        whole_file_open(&file, path, "cache", &error)) {
        whole_file_keep_private(&file);
        why = unpack(wanted, file.stream, cpu_ns);
        if (why == NULL && fflush(file.stream) != 0) {
            why = strerror(errno);
        }
        if (why == NULL) {
            why = make_room(cache, wanted->bytes);
        }
        if (why == NULL) {
            written = whole_file_replace(&file, false, &error);
        } else {
            whole_file_discard(&file);
        }
    }
    COMMAND_LOG("unpacked sections: %s %s%s%s", written ? "written to" : "not in", path,
                written ? "" : ": ",
                written       ? ""
                : why != NULL ? why
                              : error.text);
    return written;
}

/* Open the file of this name if it has as many bytes as are wanted, and note that it is
 * used. Returns its descriptor, or -1. */
static int
open_file(int folder, const char *name, const struct section_wanted *wanted)
{
    struct stat status;
    const char *why;
    int fd = private_folder_open_file(folder, name, &status, &why);

    if (fd >= 0 && (uint64_t)status.st_size != wanted->bytes) {
        why = "it has another size than its reader wants";
        close(fd);
        fd = -1;
    }
    if (fd >= 0) {
        (void)futimens(fd, NULL);
    } else {
        COMMAND_LOG("unpacked sections: not from %s: %s", name, why);
    }
    return fd;
}

int
section_cache_open(const char *cache, const struct section_wanted *wanted,
                   uint64_t *cpu_ns)
{
    char name[NAME_BYTES];
    const char *why;
    int folder;
    int fd;

    if (wanted->bytes == 0 || wanted->bytes > SECTION_CACHE_FILE_BYTES_MAX) {
        COMMAND_LOG("unpacked sections: not kept: %" PRIu64 " bytes", wanted->bytes);
        return -ENOENT;
    }
    if (!make_name(wanted, name)) {
        COMMAND_LOG("unpacked sections: not kept: others may change their file");
        return -ENOENT;
    }
    folder = private_folder_make(cache, &why);
    if (folder < 0) {
        COMMAND_LOG("unpacked sections: not in %s: %s", cache, why);
        return -ENOENT;
    }
    fd = open_file(folder, name, wanted);
    if (fd < 0 && make_file(folder, cache, name, wanted, cpu_ns)) {
        fd = open_file(folder, name, wanted);
    }
    close(folder);
    return fd < 0 ? -ENOENT : fd;
}
