/* SPDX-License-Identifier: MIT */
/*
 * open_regular.c - opens regular files only, inside a given root, of file systems that
 * hold files.
 */
#include "base/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
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

/* Files of /proc, /sys and the like do something when they are read: /proc/kmsg empties
 * the kernel's log. */
static bool
holds_files(int place, const struct stat *status)
{
    struct statfs system;

    if (major(status->st_dev) != 0) {
        return true; /* a disk, or what stands for one */
    }
    if (fstatfs(place, &system) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++) {
        if ((uint32_t)system.f_type == file_systems[i]) {
            return true;
        }
    }
    return false;
}

static int
open_how(int folder, const char *path, int flags, uint64_t resolve)
{
    struct open_how how = {
        .flags = (unsigned int)(O_PATH | O_CLOEXEC | flags),
        .resolve = resolve | RESOLVE_NO_MAGICLINKS,
    };
    const long place = syscall(SYS_openat2, folder, path, &how, sizeof(how));

    if (place < 0) {
        /* openat2 itself never fails with EPERM: a sandbox does not know the call. */
        return errno == EPERM ? -ENOSYS : -errno;
    }
    return (int)place;
}

/* Opens a place, not the file: with O_PATH, devices and pipes notice nothing. */
static int
open_place(const char *root, const char *path, int flags)
{
    int place;
    int folder;

    if (root[0] == '\0') {
        place = open(path, O_PATH | O_CLOEXEC | flags);
        return place < 0 ? -errno : place;
    }

    folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return -errno;
    }
    place = open_how(folder, path, flags, RESOLVE_IN_ROOT);
    close(folder);
    return place;
}

/* The last component is the file itself: no link, and nothing is mounted over it. */
static int
open_place_plain(const char *root, const char *path)
{
    const char *const name = strrchr(path, '/') + 1;
    char above[64];
    int folder;
    int place;

    if ((size_t)(name - path) >= sizeof(above)) {
        return -ENAMETOOLONG;
    }
    memcpy(above, path, (size_t)(name - path));
    above[name - path] = '\0';
    folder = open_place(root, above, O_DIRECTORY);
    if (folder < 0) {
        return folder;
    }
    place = open_how(folder, name, O_NOFOLLOW, RESOLVE_BENEATH | RESOLVE_NO_XDEV);
    close(folder);
    return place;
}

int
sym_open_found(int place)
{
    struct stat status;
    char link[64];
    int fd;

    if (fstat(place, &status) != 0) {
        return -errno;
    }
    if (!S_ISREG(status.st_mode)) {
        return S_ISLNK(status.st_mode) ? -ELOOP : -EINVAL;
    }
    if (!holds_files(place, &status)) {
        return -EMEDIUMTYPE;
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
    fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

static int
open_and_close(int place)
{
    int fd;

    if (place < 0) {
        return place;
    }
    fd = sym_open_found(place);
    close(place);
    return fd;
}

int
sym_open_regular(const char *root, const char *path)
{
    return open_and_close(open_place(root, path, 0));
}

int
sym_open_regular_plain(const char *root, const char *path)
{
    return open_and_close(open_place_plain(root, path));
}

const char *
sym_open_error(int error)
{
    switch (-error) {
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
    default:
        return strerror(-error);
    }
}
