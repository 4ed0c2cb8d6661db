/* SPDX-License-Identifier: MIT */
/* namingp.h - the symbols that a naming keeps. Only naming.c, naming_calls.c and
 * perf_maps.c include it. */
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
    bool given_up;       /* map was freed to save memory */
    bool kernel;         /* map is that of the kernel and its modules */
    bool partial;        /* map has only the names of the counts that it was read for */
    bool noted;          /* the reason for missing names was reported */
    bool refused;        /* a perf map exists, or may exist, and was not read */
    bool bounded;        /* some names or lines of elf would have cost too much */
    bool delayed;        /* its names are for a later profile: naming_set_time */
    unsigned int delays; /* times that its reader was ended as it took all time */
    uint64_t bytes;      /* what elf took in memory after its last rows */
    uint64_t hits;       /* hits of the image when map was read */
    uint64_t read_s;     /* CLOCK_MONOTONIC: when map was read */
    uint64_t keep_s;     /* of the kernel: how long map is kept at least */
};

/* calls - the call stacks of hits as a profile has them. All zero: there are none. */
struct calls {
    uint32_t *stacks; /* by node of the cut: index of its call in the profile */
    uint8_t *ends;    /* by node: enum stack_end */
    uint32_t *images; /* by image: its index in the profile; UINT32_MAX: no call */
    size_t image_count;
    uint32_t not_recorded; /* index of that end */
};

struct naming {
    const struct naming_program *programs; /* by number; the collector's */
    struct naming_thread *threads;         /* by number; NULL: threads are unknown */
    const uint32_t *cpus; /* the collector's list; NULL: counts are not per processor */
    uint32_t cpu_count;   /* at least 1 */
    struct naming_stacks *stacks; /* of this profile; NULL: there are none */
    struct calls calls;           /* with stacks, after naming_add_calls */
    struct namer *namers;         /* by image */
    size_t count;
    bool ending;           /* no image may stay open after its rows */
    uint64_t memory_max;   /* limit of the process in bytes; 0: none */
    uint64_t unnamed;      /* JIT maps that were freed and could not be read again */
    uint64_t maps_left;    /* bytes of perf maps that this profile may still read */
    char refused_why[128]; /* why a perf map was last not read */
    struct sym_settings symbols;
    struct sym_clock clock; /* limits the time for the names of one profile */
    uint64_t given_ns;      /* what the clock had left at the start of the profile */
    uint64_t left_ns;       /* for all profiles to come; UINT64_MAX: no limit */
    uint64_t headers_ns;    /* for headers of files when left_ns is used up */
};

/* Return the namer of an image by its number, which is empty at first, or NULL
 * if memory runs out. */
struct namer *naming_get(struct naming *naming, size_t number);

/* Report why names of an image are missing, unless that was done for this image. */
void naming_report_once(const struct naming *naming, struct namer *namer,
                        const char *why);

/* Return the bytes of code that one count covers: a bucket, or a part of it if the
 * bucket is larger than a counter can be (counts.h). */
uint64_t naming_counted_bytes(const struct profile *profile);

/* Free symbols while they take more than half of memory_max. They use the most memory,
 * and freeing them loses no hits. */
void naming_bound(struct naming *naming);

/* Open the symbols of an image's file, or of the vdso, unless that was tried before,
 * and have what is wanted looked up. If the names are for a later profile, only
 * headers are read: by the build-id and addresses in this profile's rows, a store
 * later gives them names. */
void namer_open(struct naming *naming, struct namer *namer, struct image *image,
                const struct sym_wanted *wanted);

/* Look up the names of places together: one request to the reader costs as much for
 * many names as for one. */
void namer_expect(const struct namer *namer, const struct sym_wanted *wanted);

/* Read the names that change while the code runs, if that is due: those of a JIT whose
 * map was freed, and those of the kernel and its modules. counts are those of the
 * image, whose counters cover bytes of code each. */
void namer_read_map(struct naming *naming, struct namer *namer, struct image *image,
                    const struct counts *counts, uint64_t bytes);

/* Find the address of a place and, if it returns true, its name. A bucket may start in
 * the padding before its function or segment; then its last byte gives the name. */
bool namer_look_up(const struct namer *namer, uint64_t place, uint64_t bytes,
                   struct sym_name *name, const char **module);

/* Once the rows of an image are complete: report why names of it are missing, unless
 * that was done, or leave them to a later profile if the time for them ran out. */
void namer_report(const struct naming *naming, struct namer *namer);

/* Add an image to the profile, with the range of addresses from the page of its first
 * count to the page of its last one; counts are sorted by place. Addresses come from
 * the program headers, so this works also without names. Sets *index. Returns false if
 * memory runs out. */
bool naming_add_image(struct profile *profile, const struct image *image,
                      const struct counts *counts, const struct namer *namer,
                      uint32_t *index);

/* Add an image named after a kernel module, for code of it; *index becomes its index.
 * Returns false if memory runs out. */
bool naming_add_module(struct profile *profile, const char *module, uint32_t *index);

/* --- naming_calls.c --- */

/* Add the hits of a count, apart by callers if they are of a source with stacks.
 * Returns false if memory runs out. */
bool naming_add_hits(struct naming *naming, struct profile *profile,
                     struct profile_place *place, size_t image,
                     const struct count *count);

/* Return whether the profile has calls of an image of the recording, and so the image:
 * then *index becomes that in the profile. */
bool naming_has_calls(const struct naming *naming, size_t image, uint32_t *index);

/* Free the calls of a profile. */
void calls_finish(struct calls *calls);

/* --- perf_maps.c --- */

/* Read the perf maps of the processes whose code without a file has new hits; each
 * count of it stands for bytes of code. The namers of all images exist. Returns false
 * if memory runs out; maps that are not read for other reasons are reported. */
bool perf_maps_read(struct naming *naming, struct image *const *images, size_t count,
                    uint64_t bytes);

/* Read the perf map of one image again, which was freed to save memory. */
void perf_maps_read_again(struct naming *naming, struct namer *namer,
                          struct image *image, uint64_t bytes);

#endif
