/* SPDX-License-Identifier: MIT */
/*
 * mapped_file.c - finds and opens the files that processes map.
 *
 * A file is searched for through several processes and by several paths, since the
 * process may exit, or the file be removed or be in a container.
 */
#include "record/collect/mapped_file.h"

#include "base/open_regular.h"
#include "base/time_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Number of attempts to open an image, each through another process that maps it. */
enum { MISSES_MAX = 8 };

/* Linux notifies anonymous shared memory with an inode and a name, too: such memory is
 * recognised by these names. */
bool
mapped_file_is_none(const ntprof_notification *map)
{
    return (map->image_flags & NTPROF_IMAGE_ANONYMOUS) != 0 ||
           strcmp(map->name, "/dev/zero (deleted)") == 0 ||
           strcmp(map->name, "/anon_hugepage (deleted)") == 0 ||
           strncmp(map->name, "/SYSV", strlen("/SYSV")) == 0;
}

bool
mapped_file_is_memory(const ntprof_notification *map)
{
    return strncmp(map->name, "/memfd:", strlen("/memfd:")) == 0 ||
           strncmp(map->name, "/dev/shm/", strlen("/dev/shm/")) == 0;
}

/* ---- Finding the file ---- */

uint64_t
mapped_file_key(const struct image *image)
{
    return makedev(image->device_major, image->device_minor);
}

/* Paths at which the file of a mapping may be found. */
struct paths {
    /* see paths_fill: map_files, exe, the name here, and the name in each root */
    char *names[IMAGE_ROOTS_MAX + 3];
    size_t count;
};

/* found - what a search for the file of a mapping has found. */
struct found {
    int fd;              /* O_PATH, so that it can be closed without waiting; or -1 */
    uint64_t device;     /* st_dev */
    uint64_t generation; /* 0: unknown */
    bool holds_elf;      /* begins as ELF files do; true if it is not in memory only */
    struct root root;    /* of the process; its fd is -1 if it is ours, or unknown */
};

/* opening - a search for the file of a mapping, made by another thread with a time
 * limit: each of its calls may wait for a file system that does not answer. */
struct opening {
    dev_t device; /* of the mapping, as notified */
    uint64_t inode;
    bool is_memory; /* mapped_file_is_memory */
    struct paths paths;
    uint32_t pids[IMAGE_ROOTS_MAX];
    size_t pid_count;
    struct found file;
};

/* Add one path, in the form of printf. If memory runs out, it is left out: the file may
 * be found by another one. The caller adds no more than names has room for. */
__attribute__((format(printf, 2, 3))) static void
paths_add(struct paths *paths, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&paths->names[paths->count], format, arguments) >= 0) {
        paths->count++;
    }
    va_end(arguments);
}

/* List the paths at which the file of a mapping may be found: the mapping itself in
 * /proc, the executable of the process (this is how an ordinary user can open a deleted
 * one), and the mapping's name in the root directories of the process, of its ancestors
 * and of ourselves. */
static void
paths_fill(struct paths *paths, const ntprof_notification *map,
           const uint32_t *ancestors, size_t count)
{
    paths_add(paths, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, map->pid,
              map->base, map->base + map->length);
    paths_add(paths, "/proc/%" PRIu32 "/exe", map->pid);
    paths_add(paths, "/proc/%" PRIu32 "/root%s", map->pid, map->name);
    for (size_t i = 0; i < count; i++) {
        paths_add(paths, "/proc/%" PRIu32 "/root%s", ancestors[i], map->name);
    }
    paths_add(paths, "%s", map->name);
}

/* Whether the file begins as ELF files do. True for one that is not in memory: it is
 * not read, as on other file systems a read may wait for ever. */
static bool
begins_as_elf(int fd)
{
    static const char magic[4] = {0x7f, 'E', 'L', 'F'};
    char begin[sizeof(magic)];
    struct statfs system;

    if (fstatfs(fd, &system) != 0 || ((uint32_t)system.f_type != TMPFS_MAGIC &&
                                      (uint32_t)system.f_type != HUGETLBFS_MAGIC)) {
        return true;
    }
    return pread(fd, begin, sizeof(begin), 0) == sizeof(begin) &&
           memcmp(begin, magic, sizeof(magic)) == 0;
}

/* Return the generation number of an open file, which differs between files
 * that had the same inode number one after the other; 0 if the file system
 * does not report it. */
static uint64_t
read_generation(int fd)
{
    /* The kernel writes an int, although its header declares a long. */
    uint32_t version[2] = {0};

    return ioctl(fd, FS_IOC_GETVERSION, version) == 0 ? version[0] : 0;
}

/* Open path if it leads to the mapped inode and can be read, and store the file in
 * opening->file. Returns false if not. any_device: accept the file on another device
 * than the mapping reports, since on some file systems (overlay, btrfs) stat()
 * reports another one. */
static bool
open_mapped(struct opening *opening, const char *path, bool any_device)
{
    struct stat st;
    int fd = -1;
    /* The process chose the name and may have put anything there. Opening a device may
     * have side effects, so open a path descriptor and check it first. */
    const int path_fd = open(path, O_PATH | O_CLOEXEC);

    if (path_fd < 0) {
        return false;
    }
    if (fstat(path_fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_ino == opening->inode && (any_device || st.st_dev == opening->device)) {
        fd = sym_open_found(path_fd);
    }
    if (fd < 0) {
        close(path_fd);
        return false;
    }
    opening->file.fd = path_fd;
    opening->file.device = st.st_dev;
    opening->file.generation = read_generation(fd);
    opening->file.holds_elf = !opening->is_memory || begins_as_elf(fd);
    close(fd);
    return true;
}

/* Open the file by the first path that leads to the mapped inode: on the device of the
 * mapping if any does, else on any. If it is found, open the root directory of its
 * process too. time_limit_run calls it in a thread. */
static void
opening_work(void *argument)
{
    struct opening *const opening = argument;
    bool found = false;

    for (int any_device = 0; any_device < 2; any_device++) {
        for (size_t i = 0; !found && i < opening->paths.count; i++) {
            found = open_mapped(opening, opening->paths.names[i], any_device != 0);
        }
    }
    if (found) {
        (void)roots_open(opening->pids, opening->pid_count, &opening->file.root);
    }
}

/* Close the descriptors of a file that was found. */
static void
found_close(const struct found *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
    if (file->root.fd >= 0) {
        close(file->root.fd);
    }
}

/* Free a search and close what it still owns. time_limit_run calls it if its caller has
 * given up waiting. */
static void
opening_delete(void *argument)
{
    struct opening *const opening = argument;

    while (opening->paths.count > 0) {
        free(opening->paths.names[--opening->paths.count]);
    }
    found_close(&opening->file);
    free(opening);
}

/* Create a search for the file of an image. Returns NULL if memory runs out. */
static struct opening *
opening_new(const struct image *image, const ntprof_notification *map,
            const uint32_t *ancestors, size_t count)
{
    struct opening *const opening = calloc(1, sizeof(*opening));

    if (opening == NULL) {
        return NULL;
    }
    opening->device = makedev(image->device_major, image->device_minor);
    opening->inode = image->inode;
    opening->is_memory = mapped_file_is_memory(map);
    opening->file.fd = -1;
    opening->file.root.fd = -1;
    opening->pids[opening->pid_count++] = map->pid;
    for (size_t i = 0; i < count; i++) {
        opening->pids[opening->pid_count++] = ancestors[i];
    }
    paths_fill(&opening->paths, map, ancestors, count);
    return opening;
}

/* Open the file of an image and store it in *file, which the caller closes. Returns 0,
 * -ETIMEDOUT if its file systems did not answer in time, or -ENOENT if it was not found
 * or memory runs out. */
static int
find_file(const struct image *image, const ntprof_notification *map,
          const uint32_t *ancestors, size_t count, struct found *file)
{
    struct opening *const opening = opening_new(image, map, ancestors, count);

    if (opening == NULL) {
        return -ENOENT;
    }
    if (time_limit_run(mapped_file_key(image), opening_work, opening_delete, opening) !=
        0) {
        return -ETIMEDOUT;
    }
    *file = opening->file;
    opening->file.fd = opening->file.root.fd = -1;
    opening_delete(opening);
    return file->fd >= 0 ? 0 : -ENOENT;
}

void
mapped_file_open(struct image_set *set, struct image *image,
                 const ntprof_notification *map, const uint32_t *ancestors,
                 size_t count)
{
    struct found file;
    int error;

    if (image->opened || image->misses >= MISSES_MAX) {
        return;
    }
    if (set->files_open >= set->files_max) {
        set->unopened++;
        image->misses = MISSES_MAX; /* do not try again */
        return;
    }
    error = find_file(image, map, ancestors, count, &file);
    image->late = error == -ETIMEDOUT;
    if (error != 0) {
        image->misses++;
        return;
    }
    image->fd = file.fd;
    image->opened = true;
    image->opened_device = file.device;
    image->read_generation = file.generation;
    image->root = file.root.fd >= 0 ? roots_keep(&set->roots, &file.root) : -1;
    set->files_open++;
}

bool
mapped_file_holds_elf(const struct image *image, const ntprof_notification *map,
                      const uint32_t *ancestors, size_t count)
{
    struct found file;

    if (find_file(image, map, ancestors, count, &file) != 0) {
        return false;
    }
    found_close(&file);
    return file.holds_elf;
}

/* --- readers --- */

/* Return the path of an image in the container whose root directory the link root, in
 * /proc, leads to. For processes that ran before the watch, the notified path starts
 * with that of the root, which is cut off. */
static const char *
path_below(const char *root, const char *path)
{
    char way[PATH_MAX];
    const ssize_t size = readlink(root, way, sizeof(way));
    const bool inside = size > 0 && (size_t)size < sizeof(way) &&
                        strncmp(path, way, (size_t)size) == 0 && path[size] == '/';

    return inside ? path + size : path;
}

struct sym_image *
mapped_file_read(const struct mapped_way *way, const struct sym_settings *settings,
                 const struct sym_wanted *wanted)
{
    const int fd = sym_open_found_in_time(way->key, way->fd);
    const char *path = way->path;
    char root[40] = "";

    if (way->root >= 0) {
        snprintf(root, sizeof(root), "/proc/self/fd/%d", way->root);
        path = path_below(root, path);
    }
    if (fd < 0) {
        errno = -fd;
        return NULL;
    }
    return sym_image_open_places(fd, path, root, settings, wanted);
}
