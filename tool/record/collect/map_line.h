/* SPDX-License-Identifier: MIT */
/* map_line.h - reads the mappings of a process, of which Linux has a list in
 * /proc/PID/maps. */
#ifndef RECORD_COLLECT_MAP_LINE_H
#define RECORD_COLLECT_MAP_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* map_line - one mapping, without its name. */
struct map_line {
    uint64_t begin;
    uint64_t end;
    uint64_t offset; /* in the file */
    uint32_t device_major;
    uint32_t device_minor;
    uint64_t inode; /* 0: of no file */
    bool executable;
};

/* Open the list of a process's mappings. Returns NULL if it has exited. */
FILE *map_line_open(uint32_t pid);

/* Read the next line. Returns false at the end, or if it cannot be understood. */
bool map_line_read(FILE *maps, struct map_line *line);

#endif
