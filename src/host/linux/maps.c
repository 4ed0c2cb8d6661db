/* SPDX-License-Identifier: MIT */
/*
 * host/linux/maps.c - which mappings this process has.
 *
 * The kernel gives each line as it is at that moment; mappings that other threads make or
 * remove meanwhile may be missing or stale, so users must check what they do by it.
 */
#include "host/linux/linuxp.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Longest line: the numbers and a path of 4095 characters, each escaped to four. */
enum { LINE_BYTES = 32768 };

static bool
maps_name_is_fixed(const char *name)
{
    return strncmp(name, "[stack", 6) == 0 || strncmp(name, "/anon_hugepage", 14) == 0;
}

bool
host_mapping_parse(const char *line, struct host_mapping *mapping)
{
    uintptr_t start;
    uintptr_t end;
    uint64_t offset;
    uint64_t inode;
    uint32_t major;
    uint32_t minor;
    char access[5];
    int name = 0;

    if (sscanf(line,
               "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32
               " %" SCNu64 " %n",
               &start, &end, access, &offset, &major, &minor, &inode, &name) < 7 ||
        end - 1 < start || strlen(access) != 4) {
        return false;
    }
    *mapping = (struct host_mapping){
        .start = start,
        .last = end - 1,
        .offset = offset,
        .device = (uint64_t)major << 32 | minor,
        .inode = inode,
        .protection = (access[0] == 'r' ? PROT_READ : 0) |
                      (access[1] == 'w' ? PROT_WRITE : 0) |
                      (access[2] == 'x' ? PROT_EXEC : 0),
        .shared = access[3] == 's',
        .stack = name > 0 && maps_name_is_fixed(line + name),
    };
    return true;
}

static int
maps_append(struct host_maps *maps, const struct host_mapping *mapping)
{
    if (maps->count == maps->capacity) {
        const size_t capacity = maps->capacity == 0 ? 128 : maps->capacity * 2;
        void *list = realloc(maps->list, capacity * sizeof(*maps->list));

        if (list == NULL) {
            return -ENOMEM;
        }
        maps->list = list;
        maps->capacity = capacity;
    }
    maps->list[maps->count++] = *mapping;
    return 0;
}

/* Takes the whole lines of text; *rest_bytes: what of the last one is left. */
static int
maps_take_lines(struct host_maps *maps, char *text, size_t length, size_t *rest_bytes)
{
    char *line = text;
    char *end;

    while ((end = memchr(line, '\n', length - (size_t)(line - text))) != NULL) {
        struct host_mapping mapping;

        *end = 0;
        if (host_mapping_parse(line, &mapping) && maps_append(maps, &mapping) != 0) {
            return -ENOMEM;
        }
        line = end + 1;
    }
    *rest_bytes = length - (size_t)(line - text);
    memmove(text, line, *rest_bytes);
    return 0;
}

static int
maps_read_all(struct host_maps *maps, int descriptor, char *text)
{
    size_t length = 0;

    for (;;) {
        const ssize_t got = read(descriptor, text + length, LINE_BYTES - length);
        int error;

        if (got <= 0 && (got == 0 || errno != EINTR)) {
            return got == 0 ? 0 : -errno;
        }
        length += got > 0 ? (size_t)got : 0;
        error = maps_take_lines(maps, text, length, &length);
        if (error != 0 || length == LINE_BYTES) {
            return error != 0 ? error : -EFBIG;
        }
    }
}

int
host_maps_read(struct host_maps *maps)
{
    int descriptor;
    char *text;
    int error = -ENOMEM;

    *maps = (struct host_maps){0};
    text = malloc(LINE_BYTES);
    if (text == NULL) {
        return -ENOMEM;
    }
    descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        error = -errno;
        goto free_text;
    }
    error = maps_read_all(maps, descriptor, text);
    close(descriptor);
    if (error != 0) {
        host_maps_finish(maps);
    }
free_text:
    free(text);
    return error;
}

void
host_maps_finish(struct host_maps *maps)
{
    free(maps->list);
    *maps = (struct host_maps){0};
}

const struct host_mapping *
host_maps_find(const struct host_maps *maps, uintptr_t address)
{
    size_t low = 0;
    size_t high = maps->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (maps->list[middle].last < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < maps->count ? &maps->list[low] : NULL;
}
