/* SPDX-License-Identifier: MIT */
/*
 * open_regular.c - opens regular files only, inside a given root, of file systems that
 * hold files.
 */
#include "base/open_regular.h"

#include "base/time_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* File systems without a block device of their own that hold what was written there.
 * Of the numbers, which linux/magic.h of Debian 12 does not have, the names are ubifs,
 * zfs, bcachefs; lustre, gpfs, aufs; vboxsf, vmhgfs, hostfs; gfs2, ocfs2. The last line
 * is of disks: 9p (virtual machines, Kata containers) reports what its server has. */
static const uint32_t file_systems[] = {
    TMPFS_MAGIC,       RAMFS_MAGIC,          OVERLAYFS_SUPER_MAGIC,
    BTRFS_SUPER_MAGIC, NFS_SUPER_MAGIC,      CIFS_SUPER_MAGIC,
    SMB2_SUPER_MAGIC,  SMB_SUPER_MAGIC,      V9FS_MAGIC,
    FUSE_SUPER_MAGIC,  CEPH_SUPER_MAGIC,     AFS_SUPER_MAGIC,
    AFS_FS_MAGIC,      CODA_SUPER_MAGIC,     ECRYPTFS_SUPER_MAGIC,
    HUGETLBFS_MAGIC,   EROFS_SUPER_MAGIC_V1, SQUASHFS_MAGIC,
    JFFS2_SUPER_MAGIC, 0x24051905,           0x2fc12fc1,
    0xca451a4e,        0x0bd00bd0,           0x47504653,
    0x61756673,        0x786f4256,           0xbacbacbc,
    0x00c0ffee,        0x01161970,           0x7461636f,
    EXT4_SUPER_MAGIC,  XFS_SUPER_MAGIC,      F2FS_SUPER_MAGIC};

/* Whether the file of path_fd is on a file system whose files do nothing when they are
 * read. Files of /proc, /sys and the like do: /proc/kmsg empties the kernel's log. */
static bool
holds_files(int path_fd, const struct stat *status)
{
    struct statfs system;

    if (major(status->st_dev) != 0) {
        return true; /* a disk, or what stands for one */
    }
    if (fstatfs(path_fd, &system) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++) {
        if ((uint32_t)system.f_type == file_systems[i]) {
            return true;
        }
    }
    return false;
}

/* Open a path with O_PATH by openat2, which resolves it as asked. Returns a path
 * descriptor, or negative errno. */
static int
open_how(int folder, const char *path, int flags, uint64_t resolve)
{
    struct open_how how = {
        .flags = (unsigned int)(O_PATH | O_CLOEXEC | flags),
        .resolve = resolve | RESOLVE_NO_MAGICLINKS,
    };
    const long path_fd = syscall(SYS_openat2, folder, path, &how, sizeof(how));

    if (path_fd < 0) {
        /* openat2 itself never fails with EPERM. It is the answer of seccomp filters
         * that do not know the call, so to the caller the call does not exist. */
        return errno == EPERM ? -ENOSYS : -errno;
    }
    return (int)path_fd;
}

/* Open a path below root with O_PATH, which does not open the file itself: devices and
 * pipes notice nothing. Returns a path descriptor, or negative errno. */
static int
open_path(const char *root, const char *path, int flags)
{
    int path_fd;
    int folder;

    if (root[0] == '\0') {
        path_fd = open(path, O_PATH | O_CLOEXEC | flags);
        return path_fd < 0 ? -errno : path_fd;
    }

    folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return -errno;
    }
    path_fd = open_how(folder, path, flags, RESOLVE_IN_ROOT);
    close(folder);
    return path_fd;
}

int
sym_open_found(int path_fd)
{
    struct stat status;
    char link[64];
    int fd;

    if (fstat(path_fd, &status) != 0) {
        return -errno;
    }
    if (!S_ISREG(status.st_mode)) {
        return S_ISLNK(status.st_mode) ? -ELOOP : -EINVAL;
    }
    if (!holds_files(path_fd, &status)) {
        return -EMEDIUMTYPE;
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
    fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

/* Open the regular file of a path descriptor, which is closed. Returns its descriptor
 * or negative errno; a path_fd that is negative errno is returned as it is. */
static int
open_and_close(int path_fd)
{
    int fd;

    if (path_fd < 0) {
        return path_fd;
    }
    fd = sym_open_found(path_fd);
    close(path_fd);
    return fd;
}

int
sym_open_regular(const char *root, const char *path)
{
    return open_and_close(open_path(root, path, 0));
}

int
sym_open_folder(const char *root, const char *path)
{
    return open_path(root, path, O_DIRECTORY);
}

int
sym_open_regular_in(int folder, const char *name)
{
    return open_and_close(
        open_how(folder, name, O_NOFOLLOW, RESOLVE_BENEATH | RESOLVE_NO_XDEV));
}

/* found - a path descriptor, and the descriptor of its file or negative errno. */
struct found {
    int path_fd;
    int fd;
};

static void
found_work(void *argument)
{
    struct found *const found = argument;

    found->fd = sym_open_found(found->path_fd);
}

/* Close a file whose opening took so long that the caller gave up. */
static void
found_drop(void *argument)
{
    struct found *const found = argument;

    close(found->path_fd);
    if (found->fd >= 0) {
        close(found->fd);
    }
    free(found);
}

int
sym_open_found_in_time(uint64_t key, int path_fd)
{
    struct found *const found = malloc(sizeof(*found));
    int fd;

    if (found == NULL) {
        return -ENOMEM;
    }
    *found = (struct found){fcntl(path_fd, F_DUPFD_CLOEXEC, 0), -1};
    if (found->path_fd < 0) {
        free(found);
        return -errno;
    }
    if (time_limit_run(key, found_work, found_drop, found) != 0) {
        return -ETIMEDOUT;
    }
    fd = found->fd;
    found->fd = -1;
    found_drop(found);
    return fd;
}

const char *
sym_open_error(int error)
{
    switch (-error) {
    case ETIMEDOUT:
        return "its file system does not answer, or has taken too long";
    case ETIME:
        return "the process that read it did not answer, as happens if its file "
               "system does not";
    case ECANCELED:
        return "the command ended before there was time to read it";
    case EMEDIUMTYPE:
        return "it is on a file system that holds no files, such as /proc";
    case EXDEV:
        return "another file is mounted over it";
    case ELOOP:
        return "it is a symbolic link in a circle, or where none is followed";
    case EINVAL:
        return "it is no regular file";
    case ENOSYS:
        return "it cannot be opened with care: openat2 is refused here, or Linux is "
               "older than 5.6";
    case ELIBACC:
        return "the module of ntprof that reads it cannot be loaded: install libdw1, "
               "or ntprof again";
    default:
        return strerror(-error);
    }
}
