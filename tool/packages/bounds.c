/* SPDX-License-Identifier: MIT */
/* bounds.c - reads files and pipes line by line, within bounds. */
#include "packages/packagesp.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bounds of a search. Debian's lists of packages have 50 MB, and lists of installed
 * files have 10 to 40 MB. */
enum { SEARCH_NS = 2000000000, SEARCH_BYTES = 256 << 20 };

enum { LINE_BYTES = 8192 };

void
package_bounds_begin(struct package_bounds *bounds)
{
    *bounds = (struct package_bounds){.end_ns = clock_now_ns() + SEARCH_NS,
                                      .bytes_left = SEARCH_BYTES};
}

bool
package_bounds_take(struct package_bounds *bounds, uint64_t bytes)
{
    if (bytes > bounds->bytes_left || clock_now_ns() >= bounds->end_ns) {
        bounds->bytes_left = 0; /* what comes later is not read either */
        return false;
    }
    bounds->bytes_left -= bytes;
    return true;
}

int
package_open(int at, const char *path)
{
    /* O_NONBLOCK: opening does not wait for a writer if it is a pipe. */
    const int fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;

    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

bool
package_name_copy(char *to, size_t size, const char *name, size_t length)
{
    to[0] = '\0';
    if (length == 0 || length >= size || name[0] == '-') {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                   "+-._",
                   name[i]) == NULL ||
            name[i] == '\0') {
            return false;
        }
    }
    memcpy(to, name, length);
    to[length] = '\0';
    return true;
}

/* Wait for bytes of a pipe. Returns false if the time is over before there are any. It
 * returns true after an error, too, which the read then reports. */
static bool
wait_readable(struct package_bounds *bounds, int fd)
{
    for (;;) {
        struct pollfd one = {.fd = fd, .events = POLLIN};
        const uint64_t now_ns = clock_now_ns();
        int ready;

        if (now_ns >= bounds->end_ns) {
            bounds->bytes_left = 0; /* ends the whole search */
            return false;
        }
        /* in milliseconds, rounded up */
        ready = poll(&one, 1, (int)((bounds->end_ns - now_ns) / 1000000) + 1);
        if (ready > 0 || (ready < 0 && errno != EINTR)) {
            return true;
        }
    }
}

/* line_reader - the bytes read so far that are no whole line yet. */
struct line_reader {
    char text[LINE_BYTES];
    size_t used;
    bool skipping; /* the rest of a line that was too long is skipped */
};

/* Pass the whole lines of the text to take, and keep the rest. Returns false if take
 * ended the reading. */
static bool
pass_lines(struct line_reader *reader, package_line *take, void *context)
{
    char *line = reader->text;
    char *const end = line + reader->used;
    char *newline;

    while ((newline = memchr(line, '\n', (size_t)(end - line))) != NULL) {
        *newline = '\0';
        if (!reader->skipping && !take(context, line)) {
            return false;
        }
        reader->skipping = false;
        line = newline + 1;
    }
    reader->used = (size_t)(end - line);
    memmove(reader->text, line, reader->used);
    if (reader->used == sizeof(reader->text) - 1) {
        reader->skipping = true;
        reader->used = 0;
    }
    return true;
}

/* Read until the end, or until take ends it. Returns false if reading failed or the
 * bounds ended it. */
static bool
read_all(struct package_bounds *bounds, int fd, struct line_reader *reader,
         package_line *take, void *context)
{
    for (;;) {
        ssize_t got;

        if (!wait_readable(bounds, fd)) {
            return false;
        }
        got = read(fd, reader->text + reader->used,
                   sizeof(reader->text) - 1 - reader->used);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        if (got <= 0) {
            reader->text[reader->used] = '\0';
            if (got == 0 && reader->used > 0 && !reader->skipping) {
                (void)take(context, reader->text);
            }
            return got == 0;
        }
        if (!package_bounds_take(bounds, (uint64_t)got)) {
            return false;
        }
        reader->used += (size_t)got;
        if (!pass_lines(reader, take, context)) {
            return true;
        }
    }
}

bool
package_read_lines(struct package_bounds *bounds, int fd, package_line *take,
                   void *context)
{
    struct line_reader reader = {.used = 0};
    const bool whole = read_all(bounds, fd, &reader, take, context);

    close(fd);
    return whole;
}
