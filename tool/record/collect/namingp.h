/* SPDX-License-Identifier: MIT */
/* namingp.h - the symbols that a naming keeps. Only naming.c and perf_maps.c include
 * it. */
#ifndef RECORD_COLLECT_NAMINGP_H
#define RECORD_COLLECT_NAMINGP_H

#include "record/collect/naming.h"
#include "symbols/client/image.h"

/* namer - symbols of an image: those of a file, those of a map, or none. */
struct namer {
    struct sym_image *elf;
    struct sym_map *map;
    bool opened;         /* an attempt was made */
    bool missed;         /* map had no name for some place */
    bool from_file;      /* elf was read from a file and can be opened again */
    bool given_up;       /* map was read and freed again */
    bool kernel;         /* map is that of the kernel and its modules */
    bool partial;        /* map has only the names of the counts that it was read for */
    bool noted;          /* the reason for missing names was reported */
    bool refused;        /* a perf map exists, or may exist, and was not read */
    bool bounded;        /* some names or lines of elf would have cost too much */
    bool delayed;        /* its names are for a later profile: naming_set_time */
    unsigned int delays; /* times that its process was ended as it took all time */
    uint64_t bytes;      /* what elf took in memory after its last rows */
    uint64_t hits;       /* hits of the image when map was read */
    uint64_t read_s;     /* CLOCK_MONOTONIC: when map was read */
};

struct naming {
    const struct naming_program *programs; /* by number; the collector's */
    struct naming_thread *threads;         /* by number; NULL: threads are unknown */
    const uint32_t *cpus; /* the collector's list; NULL: counts are not per processor */
    uint32_t cpu_count;   /* at least 1 */
    struct namer *namers; /* by image */
    size_t count;
    bool ending;           /* no image may stay open after its rows */
    uint64_t memory_max;   /* limit of the process in bytes; 0: none */
    uint64_t unnamed;      /* JIT maps that were freed and could not be read again */
    uint64_t maps_left;    /* bytes of perf maps that this profile may still read */
    char refused_why[128]; /* why a perf map was last not read */
    struct sym_settings symbols;
    struct sym_clock clock; /* limits the time for the names of one profile */
    uint64_t given_ns;      /* to that clock */
    uint64_t left_ns;       /* for all profiles to come; UINT64_MAX: no limit */
    uint64_t headers_ns;    /* the same, for headers when nothing is left */
};

/* Return the namer of an image, which is empty at first, or NULL if memory runs out. */
struct namer *naming_get(struct naming *naming, size_t number);

/* Report why names of an image are missing, unless that was done for this image. */
void naming_report_once(const struct naming *naming, struct namer *namer,
                        const char *why);

/* --- perf_maps.c --- */

/*
 * Read the perf maps of the processes whose code without a file has new hits. The
 * namers of all images exist. Returns false if memory runs out; maps that are not read
 * are reported.
 *
 *   bytes  of code that one count stands for
 */
bool perf_maps_read(struct naming *naming, struct image *const *images, size_t count,
                    uint64_t bytes);

/* Read the perf map of one image again, which was freed to save memory. */
void perf_maps_read_again(struct naming *naming, struct namer *namer,
                          struct image *image, uint64_t bytes);

#endif
