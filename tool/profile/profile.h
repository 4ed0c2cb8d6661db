/* SPDX-License-Identifier: MIT */
/*
 * profile.h - a profile in memory: what a run collected, a file holds and a report
 * shows.
 *
 * The model: rows of (image, address of a bucket, process name, thread, processor) with
 * one hit count per source. Thread and processor are 0 where they are not told. Strings
 * are owned by the profile. Nothing here trusts its input: names may hold any bytes but
 * NUL.
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* profile_source - one column of hits, and its statistics (units as in
 * <ntprof/source.h>). */
struct profile_source {
    const char *name; /* "time", "page-faults" ... */
    const char *nt_name;
    const char *unit; /* of intervals: "100ns" or "events" */
    bool kernel_included;
    bool user_left_out; /* by choice: what is outside is all that ran in user mode */
    uint64_t asked, granted;
    double measured;
    uint64_t expected, taken, counted, outside, lost, throttled, missed, unfinished,
        excluded;
};

/* profile_image - a mapped file (or kernel, [vdso], JIT code of one process). */
struct profile_image {
    const char *path;     /* or "[vdso]", "[kernel]", "[anon:PID]" */
    const char *build_id; /* lower-case hex, or "" */
    /* address of the first byte of the covered range; link-time addresses for files,
     * run-time ones else */
    uint64_t start;
    uint64_t limit;  /* end of the range */
    uint64_t offset; /* file offset of start */
    bool named;      /* at least one symbol table was found */
};

/* profile_function - index 0 of the table stands for "no name" and is all empty. */
struct profile_function {
    const char *name;        /* demangled */
    const char *system_name; /* as in the symbol table */
    const char *file;        /* source file or "" */
    uint32_t start_line;     /* 0 unknown */
};

/*
 * profile_frame - a place that code was inlined into. Index 0 of the table stands for
 * "nowhere" and is all
 * 0. A frame's caller comes before it in the table, so that chains end.
 */
struct profile_frame {
    uint32_t function; /* index, not 0 */
    uint32_t line;     /* of the call; 0 unknown */
    uint32_t caller;   /* index: where that function is inlined into; 0: it is not */
};

struct profile_row {
    uint64_t address; /* first byte of the bucket, in the image's addresses */
    uint32_t image;   /* index */
    /* index, the innermost one; 0: no name, shown as image+0xoffset */
    uint32_t function;
    uint32_t line; /* 0 unknown */
    /* index into frames: where function is inlined into; 0: it is not */
    uint32_t caller;
    uint32_t process;    /* index into processes */
    uint32_t thread;     /* index into threads; 0: not told */
    uint32_t cpu_plus_1; /* number of the processor, plus 1; 0: not told */
    bool by_name;        /* made as an exact one: its name finds it too */
    uint64_t *hits;      /* one per source */
};

struct profile {
    char *command;    /* command line, for people */
    char *hal;        /* back end used */
    char *limits;     /* why no better back end, what rights left out; may be "" */
    char *gaps;       /* what was not profiled at all; may be "" */
    uint64_t time_ns; /* start, UTC */
    uint64_t duration_ns;
    uint32_t bucket_bytes;
    struct profile_source *sources;
    size_t source_count;
    struct profile_image *images;
    size_t image_count;
    struct profile_function *functions; /* [0] is the empty one */
    size_t function_count;
    struct profile_frame *frames; /* [0] is the empty one */
    size_t frame_count;
    const char **processes;
    size_t process_count;
    const char **threads; /* [0] is "": names or numbers, as people tell them apart */
    size_t thread_count;
    struct profile_row *rows;
    size_t row_count;
    struct profile_private *private; /* string pool, lookup tables */
};

/*
 * All that can run out of memory return false then (or NULL); the profile stays valid
 * and its owner deletes it.
 */
struct profile *profile_new(void);
void profile_delete(struct profile *profile); /* NULL is allowed */

/* Interns a copy; equal strings give equal pointers. NULL when out of memory. */
const char *profile_string(struct profile *profile, const char *text);

/* Adds the accounting of one more recording of a source. False: it would not fit into
 * 64 bits, and sum is undefined. */
bool profile_source_add(struct profile_source *sum, const struct profile_source *more);

/* Each adds (or finds an equal one) and gives its index; strings are copied. */
bool profile_add_source(struct profile *profile, const struct profile_source *source,
                        uint32_t *index);
bool profile_add_image(struct profile *profile, const struct profile_image *image,
                       uint32_t *index);
bool profile_add_function(struct profile *profile,
                          const struct profile_function *function, uint32_t *index);
bool profile_add_process(struct profile *profile, const char *name, uint32_t *index);
bool profile_add_thread(struct profile *profile, const char *name, uint32_t *index);

/* False also if frame names no function, or one or a caller that is not there. */
bool profile_add_frame(struct profile *profile, const struct profile_frame *frame,
                       uint32_t *index);

/* Adds hits of one source to the row with these keys, made if new. All sources must
 * have been added before the first row. function and line of an existing row are kept;
 * a line without a function is dropped. False also if an index is none. */
bool profile_add_hits(struct profile *profile, uint32_t image, uint64_t address,
                      uint32_t process, uint32_t function, uint32_t line,
                      uint32_t source, uint64_t hits);

/* profile_place - the keys of a row, and what its place is called. */
struct profile_place {
    uint32_t image;
    uint32_t process;
    uint64_t address;
    uint32_t function;
    uint32_t line;
    uint32_t caller;
    uint32_t thread;
    uint32_t cpu_plus_1;
};

/* The same with the place that function is inlined into, which goes with it. */
bool profile_add_hits_at(struct profile *profile, const struct profile_place *place,
                         uint32_t source, uint64_t hits);

/*
 * The row with these keys, made without hits if it is new. With exact, code at one
 * address that is called differently has a row for each name, as where addresses are
 * those of a run; else a row keeps the name that it was made with. Rows of one image
 * are all made in one of these ways. NULL: out of memory, or an index is none. Valid
 * until another row is made.
 */
struct profile_row *profile_row_at(struct profile *profile,
                                   const struct profile_place *place, bool exact);

/* Leaves the rows and hits of one source, for looking at: nothing can be added
 * afterwards. */
void profile_keep_source(struct profile *profile, size_t source);

/* Largest row first (by source 0, then address): call once before writing or reporting.
 */
void profile_sort(struct profile *profile);

#endif
