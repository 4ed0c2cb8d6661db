/* SPDX-License-Identifier: MIT */
/*
 * host/linux/maps.c - which mappings this process has.
 *
 * The kernel answers for one address by PROCMAP_QUERY, in time that grows with the
 * logarithm of their number. Where it does not (before 6.11, or refused by a sandbox),
 * the text of /proc/self/maps is read whole. The file is opened each time: a descriptor
 * that stayed open would be the program's to close, and would tell a forked child of
 * its parent.
 *
 * The kernel gives each mapping as it is at that moment; those that other threads make
 * or remove meanwhile may be missing or stale, so users must check what they do by it.
 */
#include "host/linux/linuxp.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * struct procmap_query of <linux/fs.h>, which headers before 6.11 lack. 64-bit members
 * only, so 32-bit programs have the same one.
 */
struct map_query {
    uint64_t size; /* of this structure */
    uint64_t query_flags;
    uint64_t query_address;
    uint64_t start;
    uint64_t end;
    uint64_t flags;
    uint64_t page_size;
    uint64_t offset;
    uint64_t inode;
    uint32_t device_major;
    uint32_t device_minor;
    uint32_t name_bytes; /* in: room; out: with the 0, or 0 for none */
    uint32_t build_id_bytes;
    uint64_t name_address;
    uint64_t build_id_address;
};
_Static_assert(sizeof(struct map_query) == 104, "as the kernel has it");

#define MAP_QUERY _IOWR('f', 17, struct map_query)

enum {
    QUERY_COVERING_OR_NEXT = 0x10,
    QUERY_READABLE = 1,
    QUERY_WRITABLE = 2,
    QUERY_EXECUTABLE = 4,
    QUERY_SHARED = 8,
    QUERY_NAME_BYTES = 128 /* longer than any name that matters */
};

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

static int
maps_read_from(struct host_maps *maps, int descriptor)
{
    char *text = malloc(LINE_BYTES);
    int error;

    if (text == NULL) {
        return -ENOMEM;
    }
    error = maps_read_all(maps, descriptor, text);
    free(text);
    if (error != 0) {
        host_maps_finish(maps);
    }
    return error;
}

/* -ENOENT: there is nothing at the address or above. Others: the kernel does not tell.
 */
static int
query_mapping(int descriptor, struct map_query *query, char *name)
{
    *query = (struct map_query){.size = sizeof(*query),
                                .query_flags = QUERY_COVERING_OR_NEXT,
                                .query_address = query->query_address,
                                .name_bytes = name != NULL ? QUERY_NAME_BYTES : 0,
                                .name_address = (uintptr_t)name};
    return ioctl(descriptor, MAP_QUERY, query) == 0 ? 0 : -errno;
}

static struct host_mapping
mapping_of_query(const struct map_query *query, const char *name)
{
    return (struct host_mapping){
        .start = (uintptr_t)query->start,
        .last = (uintptr_t)(query->end - 1),
        .offset = query->offset,
        .device = (uint64_t)query->device_major << 32 | query->device_minor,
        .inode = query->inode,
        .protection = ((query->flags & QUERY_READABLE) != 0 ? PROT_READ : 0) |
                      ((query->flags & QUERY_WRITABLE) != 0 ? PROT_WRITE : 0) |
                      ((query->flags & QUERY_EXECUTABLE) != 0 ? PROT_EXEC : 0),
        .shared = (query->flags & QUERY_SHARED) != 0,
        .stack = maps_name_is_fixed(name) || query->page_size != host_page_bytes(),
    };
}

/* Asks, and keeps the answer. */
static int
maps_ask(struct host_maps *maps, uintptr_t address)
{
    char name[QUERY_NAME_BYTES] = "";
    struct map_query query = {.query_address = address};
    int error = query_mapping(maps->descriptor, &query, name);

    if (error == -ENAMETOOLONG) {
        name[0] = 0;
        error = query_mapping(maps->descriptor, &query, NULL);
    }
    maps->has_answer = error == 0;
    if (error == 0) {
        maps->answer = mapping_of_query(&query, name);
        maps->answer_from = maps->answer.start < address ? maps->answer.start : address;
    }
    return error;
}

/* No more questions; what was asked for stays known. */
static void
maps_close(struct host_maps *maps)
{
    if (maps->asks) {
        close(maps->descriptor);
        maps->asks = false;
    }
}

static int
maps_open_file(int *descriptor)
{
    *descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    return *descriptor < 0 ? -errno : 0;
}

int
host_maps_read(struct host_maps *maps)
{
    int descriptor;
    int error;

    *maps = (struct host_maps){0};
    error = maps_open_file(&descriptor);
    if (error == 0) {
        error = maps_read_from(maps, descriptor);
        close(descriptor);
    }
    return error;
}

int
host_maps_open(struct host_maps *maps, uintptr_t first)
{
    int error;

    *maps = (struct host_maps){0};
    error = maps_open_file(&maps->descriptor);
    if (error != 0) {
        return error;
    }
    maps->asks = true;
    error = maps_ask(maps, first);
    if (error == 0 || error == -ENOENT) {
        return 0;
    }
    error = maps_read_from(maps, maps->descriptor);
    maps_close(maps);
    return error;
}

void
host_maps_finish(struct host_maps *maps)
{
    maps_close(maps);
    free(maps->list);
    *maps = (struct host_maps){0};
}

bool
host_maps_are_known(const struct host_maps *maps)
{
    return maps->asks || maps->count > 0;
}

static const struct host_mapping *
maps_search(const struct host_maps *maps, uintptr_t address)
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

const struct host_mapping *
host_maps_find(struct host_maps *maps, uintptr_t address)
{
    if (!maps->asks) {
        return maps_search(maps, address);
    }
    if (maps->has_answer && maps->answer_from <= address &&
        address <= maps->answer.last) {
        return &maps->answer;
    }
    return maps_ask(maps, address) == 0 ? &maps->answer : NULL;
}
