/* SPDX-License-Identifier: MIT */
/* map_line.c - reads lines of /proc/PID/maps. */
#include "record/collect/map_line.h"

#include <inttypes.h>

FILE *
map_line_open(uint32_t pid)
{
    char path[40];

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
    return fopen(path, "re");
}

bool
map_line_read(FILE *maps, struct map_line *line)
{
    char access[5]; /* as "r-xp" */

    if (fscanf(maps,
               "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32
               " %" SCNu64 "%*[^\n]",
               &line->begin, &line->end, access, &line->offset, &line->device_major,
               &line->device_minor, &line->inode) != 7) {
        return false;
    }
    line->executable = access[2] == 'x';
    return true;
}
