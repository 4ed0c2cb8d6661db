/* SPDX-License-Identifier: MIT */
/* perf_map.c - has a perf map read, and takes the names that come back. */
#include "symbols/client/perf_map.h"

#include "base/clock.h"
#include "base/command_log.h"
#include "sandbox/process.h"
#include "symbols/border/protocol.h"
#include "symbols/client/readers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Limits for one file: memory for what is kept of it, and processor time. Real files
 * take about a second. */
#define MEMORY_MAX (UINT64_C(1) << 30)
#define CPU_NS_MAX (UINT64_C(20) * CLOCK_SECOND_NS)

/* Return how many ranges a map may have: each has the first or the last byte of a
 * bucket. */
static size_t
most_ranges(const struct sym_wanted *wanted)
{
    return 2 * wanted->count;
}

/* Receive a text, and return a copy that the map's table owns; NULL: that failed. */
static char *
get_text(struct wire *wire, struct sym_map *map)
{
    const char *const got = wire_get_text(wire, TEXT_BYTES_MAX);
    char *const text = wire->failed ? NULL : strdup(got);

    return sym_table_own(&map->table, text) ? text : NULL;
}

/* Receive a range. Returns false if that failed, the range is empty or has no name, or
 * it begins before the end of the last one. */
static bool
get_range(struct wire *wire, struct sym_map *map, struct sym_range *range)
{
    *range = (struct sym_range){.start = wire_get(wire), .end = 0};
    range->end = wire_get(wire);
    range->shown = get_text(wire, map);
    range->name = range->shown == NULL ? NULL : get_text(wire, map);
    return range->name != NULL && range->name[0] != '\0' && range->shown[0] != '\0' &&
           range->start < range->end &&
           (map->table.range_count == 0 || range[-1].end <= range->start);
}

/* Receive all ranges, at most so many. Returns false if that failed. */
static bool
get_ranges(struct wire *wire, struct sym_map *map, size_t most)
{
    struct sym_table *const table = &map->table;

    table->ranges = calloc(most + 1, sizeof(*table->ranges));
    table->owns_shown = true;
    while (table->ranges != NULL && wire_get_most(wire, 1) != 0) {
        if (table->range_count == most ||
            !get_range(wire, map, &table->ranges[table->range_count])) {
            return false;
        }
        table->range_count++;
    }
    return table->ranges != NULL && !wire->failed;
}

/* Receive the map. Returns NULL with errno: that of the reader, if Linux has such a
 * number (1 to 4095), or EIO if the reader failed. */
static struct sym_map *
get_map(struct wire *wire, size_t most)
{
    const int error = (int)wire_get_most(wire, 4095);
    struct sym_map *const map = calloc(1, sizeof(*map));

    if (error == 0 && map != NULL && !wire->failed && get_ranges(wire, map, most)) {
        return map;
    }
    sym_map_close(map);
    errno = error != 0 ? error : EIO;
    return NULL;
}

struct sym_map *
sym_map_read_perf(int fd, uint64_t size, const struct sym_wanted *wanted)
{
    const struct sandbox_limits limits = {MEMORY_MAX, CPU_NS_MAX};
    struct sandbox_process process;
    struct sym_map *map;
    const int error = readers_start(&process, READER_PERF_MAP, &limits);
    int why;

    if (error != 0) {
        errno = -error;
        return NULL;
    }
    COMMAND_LOG("reader %ld: asked for names of %zu places of JIT code",
                (long)process.pid, wanted->count);
    wire_put(&process.wire, size);
    wire_put(&process.wire, wanted->bytes);
    wire_put_bytes(&process.wire, wanted->places,
                   wanted->count * sizeof(*wanted->places));
    wire_send(&process.wire, fd);
    map = get_map(&process.wire, most_ranges(wanted));
    why = errno;
    sandbox_stop(&process);
    errno = process.stuck ? ETIME : why;
    return map;
}
