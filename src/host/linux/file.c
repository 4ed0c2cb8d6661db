/* SPDX-License-Identifier: MIT */
/* host/linux/file.c - reads whole small files of /proc and /sys. */
#include "host/linux/linuxp.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Read to the end of a file. Returns the number of bytes, or -errno; -EFBIG if they
 * fill the capacity, so that there is no room for a NUL. */
static ssize_t
file_fill(int descriptor, char *text, size_t capacity)
{
    size_t length = 0;

    while (length < capacity) {
        const ssize_t got = read(descriptor, text + length, capacity - length);

        if (got == 0) {
            return (ssize_t)length;
        }
        if (got < 0 && errno != EINTR) {
            return -errno;
        }
        length += got > 0 ? (size_t)got : 0;
    }
    return -EFBIG;
}

ssize_t
host_file_read(const char *path, char *text, size_t capacity)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length;

    if (descriptor < 0) {
        return -errno;
    }
    length = file_fill(descriptor, text, capacity);
    close(descriptor);
    if (length >= 0) {
        text[length] = 0;
    } else if (length == -EFBIG) {
        text[capacity - 1] = 0;
    }
    return length;
}
