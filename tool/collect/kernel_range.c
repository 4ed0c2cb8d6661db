/* SPDX-License-Identifier: MIT */
/* kernel_range.c - text and modules of the kernel that runs. */
#include "collect/kernel_range.h"
#include "sym/sym.h"

#include <inttypes.h>
#include <stdio.h>

#if defined(__x86_64__)
/* Kernel text and modules: the top 2 GB, less the last byte so that the end does not wrap. */
static const uint64_t kernel_begin = UINT64_C(0xffffffff80000000);
static const uint64_t kernel_length = UINT64_C(0x7ffffff0);
#elif defined(__aarch64__)
/* Modules and kernel image lie below this much above the start of the vmalloc region. */
static const uint64_t kernel_begin = UINT64_C(0xffff800000000000);
static const uint64_t kernel_length = UINT64_C(0x100000000);
#else
static const uint64_t kernel_begin = UINT64_C(0xc0000000);
static const uint64_t kernel_length = UINT64_C(0x3ffffff0);
#endif

static const uint64_t range_align = UINT64_C(1) << 21;

struct limits {
    uint64_t begin;
    uint64_t end; /* not above begin: nothing */
};

static struct limits
find_text(void)
{
    struct limits text = {0};
    struct sym_map *const map = sym_map_open_kernel(&text.begin, &text.end);

    if (map == NULL) {
        return (struct limits){0};
    }
    sym_map_close(map);
    return text;
}

/* From the lowest module to the end of the highest; their addresses may be hidden. */
static struct limits
find_modules(void)
{
    FILE *const modules = fopen("/proc/modules", "re");
    struct limits found = {.begin = UINT64_MAX};
    char line[1024];

    while (modules != NULL && fgets(line, sizeof(line), modules) != NULL) {
        uint64_t address;
        uint64_t size;

        if (sscanf(line, "%*s %" SCNu64 " %*s %*s %*s 0x%" SCNx64, &size, &address) ==
                2 &&
            address >= kernel_begin && size <= UINT64_MAX - address) {
            found.begin = address < found.begin ? address : found.begin;
            found.end = address + size > found.end ? address + size : found.end;
        }
    }
    if (modules != NULL) {
        fclose(modules);
    }
    return found;
}

/* To whole units, and within [from, kernel_begin + kernel_length). */
static struct limits
clip(struct limits limits, uint64_t from)
{
    const uint64_t to = kernel_begin + kernel_length;

    if (limits.begin < limits.end) {
        limits.begin &= ~(range_align - 1);
        limits.end = (limits.end - 1) | (range_align - 1);
        limits.end += limits.end != UINT64_MAX;
    }
    limits.begin = limits.begin > from ? limits.begin : from;
    limits.end = limits.end < to ? limits.end : to;
    return limits;
}

static void
add(struct kernel_range *ranges, size_t *count, uint64_t begin, uint64_t end, bool rest)
{
    if (begin < end) {
        ranges[(*count)++] =
            (struct kernel_range){.begin = begin, .length = end - begin, .rest = rest};
    }
}

size_t
kernel_ranges_find(bool split, struct kernel_range *ranges)
{
    struct limits parts[2] = {{0}, {0}};
    uint64_t from = kernel_begin;
    size_t count = 0;

    if (split) {
        parts[0] = find_text();
        parts[1] = find_modules();
    }
    if (parts[1].begin < parts[0].begin && parts[1].begin < parts[1].end) {
        const struct limits text = parts[0];

        parts[0] = parts[1];
        parts[1] = text;
    }
    for (size_t i = 0; i < 2; i++) {
        const struct limits part = clip(parts[i], from);

        if (part.begin < part.end) {
            add(ranges, &count, from, part.begin, true);
            add(ranges, &count, part.begin, part.end, false);
            from = part.end;
        }
    }
    add(ranges, &count, from, kernel_begin + kernel_length, count > 0);
    return count;
}
