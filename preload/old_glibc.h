/* SPDX-License-Identifier: MIT */
/*
 * preload/old_glibc.h - included before each file of a preload object that has to work
 * with glibc 2.17 too, whatever glibc it is linked with.
 *
 * The newer glibc has the old versions of these symbols beside its own. Before 2.34
 * they are in libdl and libpthread, which the object is linked with by their names.
 */
#ifndef PRELOAD_OLD_GLIBC_H
#define PRELOAD_OLD_GLIBC_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OLD_VERSION "GLIBC_2.2.5"
#elif defined(__i386__)
#define OLD_VERSION "GLIBC_2.0"
#elif defined(__aarch64__)
#define OLD_VERSION "GLIBC_2.17"
#else
#error "the oldest version of glibc's symbols on this machine is not known"
#endif

__asm__(".symver dlsym, dlsym@" OLD_VERSION);
__asm__(".symver pthread_key_create, pthread_key_create@" OLD_VERSION);
__asm__(".symver pthread_setspecific, pthread_setspecific@" OLD_VERSION);
#if defined(__i386__)
__asm__(".symver fcntl, fcntl@" OLD_VERSION); /* another one since 2.28 */
#endif

/* stat and fstat are functions only since 2.33. Fills in what the object asks for. */
static inline int
old_glibc_stat(int folder, const char *path, int flags, struct stat *status)
{
    struct statx found;

    if (syscall(SYS_statx, folder, path, flags, STATX_BASIC_STATS, &found) != 0) {
        return -1;
    }
    memset(status, 0, sizeof(*status));
    status->st_dev = makedev(found.stx_dev_major, found.stx_dev_minor);
    status->st_ino = (__typeof__(status->st_ino))found.stx_ino;
    status->st_mode = found.stx_mode;
    status->st_size = (__typeof__(status->st_size))found.stx_size;
    return 0;
}

#define stat(path, status) old_glibc_stat(AT_FDCWD, path, 0, status)
#define fstat(fd, status) old_glibc_stat(fd, "", AT_EMPTY_PATH, status)

#endif
