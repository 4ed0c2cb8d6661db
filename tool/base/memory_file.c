/* SPDX-License-Identifier: MIT */
/* memory_file.c - makes files of memory. */
#include "base/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Since Linux 6.3; where vm.memfd_noexec is 2, no file is made without it. The file can
 * be mapped as code all the same. */
#if !defined(MFD_NOEXEC_SEAL)
#define MFD_NOEXEC_SEAL 8U
#endif

int
memory_file_create(const char *name)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int low = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    int fd;
    int failure;

    if (low < 0 && errno == EINVAL) {
        low = memfd_create(name, flags);
    }
    if (low < 0 || low > STDERR_FILENO) {
        return low;
    }
    fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    failure = errno;
    (void)close(low);
    errno = failure;
    return fd;
}
