/* SPDX-License-Identifier: MIT */
/*
 * region.h - the region of --region: finds the code that the user named, before
 * anything is profiled.
 */
#ifndef RECORD_REGION_H
#define RECORD_REGION_H

#include "record/collect/collector.h"
#include "record/program_file.h"

#include <limits.h>

/* region - the code of --region, as the user named it and where it is. */
struct region {
    struct collector_region code; /* bytes is 0 without --region */
    char path[PATH_MAX];          /* of the image, for the user */
    char *symbol;                 /* name of the function; NULL: a range was given */
    uint64_t address;             /* link-time address of its first byte */
};

/*
 * region_resolve - find the region. Returns false with the reason in why.
 *
 *   text          in: [IMAGE:]SYMBOL[+SIZE] or IMAGE:START-END; IMAGE is a path or a
 *                 glob that matches one file. START and END are link-time addresses in
 *                 hexadecimal; END is not in the region
 *   choice        in: the program that SYMBOL is in without IMAGE
 *   bucket_bytes  in: size of the buckets; the region must start at a multiple of it
 *   memory_max    in: limit of the memory for symbols in bytes; 0: 1 GiB
 *   why           out: why there is no such region, for the user
 *
 * region_finish must be called in any case.
 */
bool region_resolve(struct region *region, const char *text,
                    const struct program_choice *choice, uint32_t bucket_bytes,
                    uint64_t memory_max, char *why, size_t why_size);

/* Free the name of the function. */
void region_finish(struct region *region);

#endif
