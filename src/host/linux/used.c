/* SPDX-License-Identifier: MIT */
/*
 * host/linux/used.c - which pages of a buffer may hold counts.
 *
 * A page that somebody wrote is present in the caller's mapping or in the alias. Where the system
 * has swapped, a page may have left both: then each page may hold counts, as it does when pagemap
 * cannot be read.
 */
#include "host/linux/linuxp.h"

#include <fcntl.h>
#include <ntprof/session.h>
#include <sys/sysinfo.h>
#include <unistd.h>

enum { PAGES_AT_ONCE = 512 };

/* Bits of a pagemap entry: the page is present, or swapped. */
static const uint64_t pagemap_used = UINT64_C(3) << 62;

static bool
system_has_swapped(void)
{
    struct sysinfo info;

    return sysinfo(&info) != 0 || info.totalswap != info.freeswap;
}

/* How many of count pages from address on are unused, or -1 if that cannot be told. */
static ssize_t
count_unused(int pagemap, uintptr_t address, size_t count)
{
    uint64_t entries[PAGES_AT_ONCE];
    const off_t at = (off_t)(address / host_page_bytes() * sizeof(entries[0]));
    const ssize_t got = pread(pagemap, entries, count * sizeof(entries[0]), at);
    size_t unused = 0;

    if (got != (ssize_t)(count * sizeof(entries[0]))) {
        return -1;
    }
    while (unused < count && (entries[unused] & pagemap_used) == 0) {
        unused++;
    }
    return (ssize_t)unused;
}

/* The alias of an address that ntprof_buffer_alloc gave; 0 while nobody has counted there. */
static uintptr_t
find_alias(uintptr_t address)
{
    const struct host_range *range;
    uintptr_t alias = 0;

    host_arena_lock();
    range = host_range_find(address);
    if (range != NULL && range->alias != NULL && address >= range->start) {
        alias = (uintptr_t)range->alias + (address - range->start);
    }
    host_arena_unlock();
    return alias;
}

/* Offset of the first page from page on that may be used, or end; both in pages of a buffer. */
static size_t
find_used(int pagemap, uintptr_t buffer, uintptr_t alias, size_t page, size_t end)
{
    while (page < end) {
        const size_t count = end - page < PAGES_AT_ONCE ? end - page : PAGES_AT_ONCE;
        const size_t offset = page * host_page_bytes();
        ssize_t unused = count_unused(pagemap, buffer + offset, count);

        if (unused > 0 && alias != 0) {
            const ssize_t others = count_unused(pagemap, alias + offset, count);

            unused = others < unused ? others : unused;
        }
        if (unused < (ssize_t)count) {
            return page + (unused > 0 ? (size_t)unused : 0);
        }
        page += count;
    }
    return end;
}

size_t
ntprof_buffer_next(const ULONG *buffer, size_t bytes, size_t from)
{
    const size_t page_bytes = host_page_bytes();
    const size_t first = from / page_bytes;
    const size_t end = bytes / page_bytes + (bytes % page_bytes != 0);
    size_t page;
    int pagemap;

    if (from >= bytes || system_has_swapped()) {
        return from < bytes ? from : bytes;
    }
    pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pagemap < 0) {
        return from;
    }
    page = find_used(pagemap, (uintptr_t)buffer, find_alias((uintptr_t)buffer), first,
                     end);
    close(pagemap);
    if (page == end) {
        return bytes;
    }
    return page > first ? page * page_bytes : from;
}
