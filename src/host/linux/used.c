/* SPDX-License-Identifier: MIT */
/*
 * host/linux/used.c - which pages of a buffer may hold counts.
 *
 * mincore reports whether a page of shared memory exists, also if another mapping of it
 * was written. It does not report pages that were swapped out. So while any memory is
 * swapped out, or if that is unknown, every page may hold counts.
 *
 * mincore looks each page up: 20 ms for the 2 GB of counters of a JIT's 512 MB. Who may
 * open the file behind a mapping (CAP_CHECKPOINT_RESTORE) can seek in it instead, which
 * takes 10 us, whatever the size is.
 */
#include "host/linux/linuxp.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <ntprof/session.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* How many pages mincore is first asked for, and at most: the number doubles, as the
 * next used page is often near. Where PAGES_NEAR are not used, a seek is cheaper: these
 * are the pages of the first requests, 16 + 32 + ... + 512. */
enum { PAGES_AT_FIRST = 16, PAGES_AT_ONCE = 4096, PAGES_NEAR = 1008 };

/* Is any memory of the machine swapped out? True if that is unknown. */
static bool
system_has_swapped(void)
{
    struct sysinfo info;

    return sysinfo(&info) != 0 || info.totalswap != info.freeswap;
}

/* Find the first page from page on that is used, or end, by the file of the mapping
 * that ends with page end. Returns false if that cannot be opened: without the right,
 * or where the mapping is longer. */
static bool
seek_used(uintptr_t buffer, size_t page, size_t end, size_t *used)
{
    const size_t page_bytes = host_page_bytes();
    char path[64];
    off_t offset;
    int fd;
    int error;

    snprintf(path, sizeof(path), "/proc/self/map_files/%" PRIxPTR "-%" PRIxPTR, buffer,
             buffer + end * page_bytes);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    offset = lseek(fd, (off_t)(page * page_bytes), SEEK_DATA);
    error = errno;
    (void)close(fd);
    *used = offset >= 0 ? (size_t)offset / page_bytes : end;
    return offset >= 0 || error == ENXIO;
}

/* Return the first page from page on that may be used, or end; both are numbers of
 * pages in the buffer. */
static size_t
find_used(uintptr_t buffer, size_t page, size_t end)
{
    const size_t first = page;
    const size_t page_bytes = host_page_bytes();
    unsigned char exists[PAGES_AT_ONCE];
    size_t step = PAGES_AT_FIRST;

    while (page < end) {
        const size_t count = end - page < step ? end - page : step;

        if (page - first == PAGES_NEAR && seek_used(buffer, page, end, &page)) {
            return page;
        }
        if (mincore((void *)(buffer + page * page_bytes), count * page_bytes, exists) <
            0) {
            return page;
        }
        for (size_t i = 0; i < count; i++) {
            if ((exists[i] & 1) != 0) {
                return page + i;
            }
        }
        page += count;
        step = step < PAGES_AT_ONCE ? step * 2 : step;
    }
    return end;
}

size_t
host_used_next(uintptr_t buffer, size_t bytes, size_t from)
{
    const size_t page_bytes = host_page_bytes();
    const size_t first = from / page_bytes;
    const size_t end = bytes / page_bytes + (bytes % page_bytes != 0);
    size_t page;

    if (from >= bytes || system_has_swapped()) {
        return from < bytes ? from : bytes;
    }
    page = find_used(buffer, first, end);
    if (page == end) {
        return bytes;
    }
    return page > first ? page * page_bytes : from;
}

size_t
ntprof_buffer_next(const ULONG *buffer, size_t bytes, size_t from)
{
    return host_used_next((uintptr_t)buffer, bytes, from);
}
