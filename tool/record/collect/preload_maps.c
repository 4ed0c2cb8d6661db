/* SPDX-License-Identifier: MIT */
/* preload_maps.c - reads the executable ranges of a process in /proc/PID/maps. */
#include "record/collect/preload_maps.h"

#include "base/array.h"
#include "record/collect/collectorp.h"
#include "record/collect/preloaded.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time until the next reading: it doubles while a process's ranges do not change. */
static const uint64_t wait_least_ns = 50000000;
static const uint64_t wait_most_ns = 1000000000;

/* A process with more has its last ones left out. */
enum { RANGES_MAX = 65536 };

void
preload_maps_finish(struct preload_maps *maps)
{
    free(maps->ranges);
    *maps = (struct preload_maps){0};
}

/* Ranges that are being read. */
struct reading {
    struct collector *collector;
    uint32_t pid;
    uint32_t parent; /* 0: unknown */
    struct preload_range *ranges;
    size_t count;
    size_t capacity;
    bool replaced; /* other code is where a range of the last reading was */
};

/* Append a range of code. Returns false if memory runs out. */
static bool
add_range(struct reading *reading, const struct preload_range *range)
{
    struct preload_range *const ranges = array_grow(
        reading->ranges, reading->count, &reading->capacity, sizeof(*ranges));

    if (ranges == NULL) {
        return false;
    }
    reading->ranges = ranges;
    reading->ranges[reading->count++] = *range;
    return true;
}

/* Read a line into the members of a mapping. Returns false if it has no code. */
static bool
read_line(char *line, ntprof_notification *map)
{
    char access[5];
    int name_at = 0;
    uint64_t end;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
               &map->base, &end, access, &map->file_offset, &map->device_major,
               &map->device_minor, &map->inode, &name_at) != 7 ||
        access[2] != 'x' || end <= map->base) {
        return false;
    }
    line[strcspn(line, "\n")] = '\0';
    map->length = end - map->base;
    map->name = line + name_at;
    if (map->inode == 0 && strcmp(map->name, "[vdso]") != 0) {
        map->image_flags = NTPROF_IMAGE_ANONYMOUS;
    }
    return strcmp(map->name, "[vsyscall]") != 0;
}

/* Append the mapping of a line of /proc/PID/maps, if it is of code; without an image it
 * is counted as a failure instead. Returns false if memory runs out. */
static bool
take_line(struct reading *reading, char *line)
{
    struct collector *const collector = reading->collector;
    ntprof_notification map = {
        .size = sizeof(map), .kind = NTPROF_IMAGE_MAP, .pid = reading->pid};
    struct preload_range range;

    if (!read_line(line, &map)) {
        return true;
    }
    /* If the process has exited, its parent leads to the root that both see. */
    range = (struct preload_range){
        .begin = map.base,
        .end = map.base + map.length,
        .image = image_set_find(&collector->images, &map, &reading->parent,
                                reading->parent != 0 ? 1 : 0),
    };
    if (range.image == NULL) {
        collector_fail(collector, STATUS_INSUFFICIENT_RESOURCES);
        return true;
    }
    range.place = range.image->kind == IMAGE_ANONYMOUS ? range.begin : map.file_offset;
    return add_range(reading, &range);
}

/* Read at most RANGES_MAX ranges of code that the process maps. Returns false if it has
 * exited or memory runs out. */
static bool
read_maps(struct reading *reading)
{
    char path[40];
    char *line = NULL;
    size_t room = 0;
    bool complete = true;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", reading->pid);
    file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    while (complete && reading->count < RANGES_MAX && getline(&line, &room, file) > 0) {
        complete = take_line(reading, line);
    }
    free(line);
    fclose(file);
    return complete;
}

static int
compare(const void *left, const void *right)
{
    const struct preload_range *const a = left;
    const struct preload_range *const b = right;

    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Index of the first range of a list in order that ends behind an address. */
static size_t
first_behind(const struct preload_range *ranges, size_t count, uint64_t address)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (ranges[middle].end <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Is the code of a range of the last reading still there? */
static bool
is_within(const struct preload_range *old, const struct preload_range *range)
{
    return range->image == old->image && range->begin <= old->begin &&
           range->end >= old->end &&
           old->begin - range->begin == old->place - range->place;
}

/* Add ranges of earlier readings that no range overlaps now: hits in them may still be
 * counted. Sets replaced if an earlier range has other code now, or if there is no room
 * for it: then hits so far are to be taken first. Returns false if memory runs out. */
static bool
keep_old(struct reading *reading, const struct preload_maps *maps)
{
    const size_t count = reading->count;
    bool complete = true;

    for (size_t i = 0; complete && i < maps->count; i++) {
        const struct preload_range *const old = &maps->ranges[i];
        const size_t at = first_behind(reading->ranges, count, old->begin);
        const bool overlapped = at < count && reading->ranges[at].begin < old->end;

        if (!overlapped && reading->count < RANGES_MAX) {
            complete = add_range(reading, old);
        } else if (!overlapped || !is_within(old, &reading->ranges[at])) {
            reading->replaced = true;
        }
    }
    if (reading->count > count) {
        qsort(reading->ranges, reading->count, sizeof(*reading->ranges), compare);
    }
    return complete;
}

/* Has nothing changed since the last reading? */
static bool
is_equal(const struct reading *reading, const struct preload_maps *maps)
{
    return reading->count == maps->count &&
           (maps->count == 0 || memcmp(reading->ranges, maps->ranges,
                                       maps->count * sizeof(*maps->ranges)) == 0);
}

void
preload_maps_read(struct preload_maps *maps, struct collector *collector, uint32_t pid,
                  uint32_t parent, uint64_t now_ns)
{
    struct reading reading = {.collector = collector, .pid = pid, .parent = parent};

    if (read_maps(&reading) && keep_old(&reading, maps) && !is_equal(&reading, maps)) {
        if (reading.replaced) {
            /* Hits so far were in the code that was there until now. */
            (void)preloaded_take(collector->preloaded);
        }
        free(maps->ranges);
        maps->ranges = reading.ranges;
        maps->count = reading.count;
        maps->version++;
        maps->wait_ns = wait_least_ns;
    } else {
        free(reading.ranges);
        maps->wait_ns *= 2;
    }
    maps->wait_ns = maps->wait_ns > wait_least_ns ? maps->wait_ns : wait_least_ns;
    maps->wait_ns = maps->wait_ns < wait_most_ns ? maps->wait_ns : wait_most_ns;
    maps->next_ns = now_ns + maps->wait_ns;
}

struct image *
preload_maps_find(const struct preload_maps *maps, uint64_t address, uint64_t *place)
{
    const size_t at = first_behind(maps->ranges, maps->count, address);

    if (at == maps->count || maps->ranges[at].begin > address) {
        return NULL;
    }
    *place = maps->ranges[at].place + (address - maps->ranges[at].begin);
    return maps->ranges[at].image;
}
