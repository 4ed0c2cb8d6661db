/* SPDX-License-Identifier: MIT */
/*
 * profile.h - a profile in memory: collected by a recording, stored in a file, shown by
 * a report.
 *
 * It has rows of (image, address of a bucket, process name, unit, thread, process id,
 * processor, stack) with one hit count for each source. Unit, thread, process id,
 * processor and stack are 0 where unknown.
 * The profile owns its strings. Names may contain any bytes except NUL.
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * profile_source - one column of hits, and its statistics (units as in
 * <ntprof/source.h>).
 *
 * It is identified by name, unit and granted interval: hits of one name that stand for
 * different times are different columns, until join.h adds these up.
 */
struct profile_source {
    const char *name;    /* "time", "page-faults" ... */
    const char *nt_name; /* NT's name, such as "ProfileTime", or "" */
    /* of intervals: "100ns" or "events"; of another tool's values, such as "bytes" */
    const char *unit;
    bool kernel_included; /* hits in kernel mode were counted too */
    bool user_left_out;   /* chosen by the user: outside hits are those in user mode */
    uint64_t asked, granted; /* intervals, in unit; granted 0: not known */
    double measured; /* events that the kernel counted, divided by taken; 0: no hit */
    /* Numbers of hits, as the glossary of ARCHITECTURE.md defines them. */
    uint64_t expected, taken, counted, outside, lost, throttled, missed, unfinished,
        excluded;
    uint64_t outside_kernel; /* at most outside; 0 in older profiles */
    /* Of recordings with stacks: bytes of a stack that were copied at most (of several
     * recordings the least), rows with callers or calls, whichever are more, and the
     * bound of either. 0: not known. */
    uint64_t stack_bytes, contexts, contexts_max;
    /* Of the sum of several intervals: the columns that it is the sum of. A row's
     * number is then its time or events in units of granted, and the hits are in the
     * columns from first_part on. */
    struct profile_source *parts;
    size_t part_count; /* 0: of one interval */
    size_t first_part;
};

/* profile_image - a mapped file (or kernel, [vdso], JIT code of one process). */
struct profile_image {
    const char *path;     /* or "[vdso]", "[kernel]", "[anon:PID]" */
    const char *build_id; /* lower-case hex, or "" */
    /* Address of the first byte of the covered range: a link-time address for files,
     * otherwise a run-time address. */
    uint64_t start;
    uint64_t limit;  /* end of the range */
    uint64_t offset; /* file offset of start */
    bool named;      /* a symbol table was found */
};

/*
 * profile_function - index 0 of the table means "nothing known"; its members are empty.
 *
 * Code whose bounds are known from unwind tables only has an address and no name. A
 * function that has lines in several files has an entry for each; identity.h finds
 * which entries are one function.
 */
struct profile_function {
    const char *name;        /* demangled; "": it has none */
    const char *system_name; /* as in the symbol table */
    const char *file;        /* source file of its lines or "" */
    uint32_t start_line;     /* of its definition; 0: unknown */
    /* Of its first byte, in the addresses of its image. Functions that were inlined
     * have none. */
    bool has_address;
    uint64_t address;
    /* Source file that defines it; "": that is file. NULL, which profile_add_function
     * takes for "", is never in the table. */
    const char *definition;
};

/*
 * profile_frame - a function that code was inlined into, and the line of the call.
 * Index 0 of the table means "none"; its members are 0. A frame's caller is before it
 * in the table, so chains end.
 */
struct profile_frame {
    uint32_t function; /* index, not 0 */
    uint32_t line;     /* of the call; 0: unknown */
    uint32_t caller;   /* index of the frame that the function is inlined into, or 0 */
};

/*
 * profile_call - a call on a stack, or (end is not NULL) how stacks end: the outermost
 * entry. A call's caller is before it in the table, so each chain ends with an end.
 * Index 0 of the table means "no stack"; its members are 0. The innermost place of a
 * stack is that of the row and no call.
 *
 * Ends of stacks that are not whole have a name in brackets, such as "[cut at 16 kB]",
 * and a function of that name, which is shown as the outermost one. Other names, such
 * as PROFILE_STACK_WHOLE, are not shown.
 */
struct profile_call {
    const char *end;   /* NULL: a call; all but function is 0 in ends */
    uint64_t address;  /* of the call (its return address - 1), in the image's */
    uint32_t image;    /* index */
    uint32_t function; /* as in a row, with line and inlined */
    uint32_t line;
    uint32_t inlined; /* index of the frame that function is inlined into, or 0 */
    uint32_t caller;  /* index of the call or end outside of it, not 0; of an end: 0 */
    bool by_name;     /* made with its name as a key, as rows are with exact */
};

/* The end of stacks that were walked to the outermost function. */
#define PROFILE_STACK_WHOLE "whole"

/* Longer stacks end after this many calls, and those with more functions, inlined ones
 * among them, before that, each with an end that says so. */
enum { PROFILE_STACK_CALLS_MAX = 512, PROFILE_STACK_FUNCTIONS_MAX = 4096 };
#define PROFILE_STACK_DEEP "[deeper than 512 frames]"
#define PROFILE_STACK_LARGE "[more than 4096 functions]"

/* As many functions are at one place, with what they are inlined into. */
enum { PROFILE_PLACE_FUNCTIONS_MAX = 512 };

struct profile_row {
    uint64_t address; /* first byte of the bucket, in the image's addresses */
    uint32_t image;   /* index */
    /* index of the innermost function; 0: none is known. The outermost one, in whose
     * machine code the hit is, ends the chain of frames. */
    uint32_t function;
    uint32_t line; /* 0: unknown */
    /* index of the frame that function is inlined into, or 0 */
    uint32_t caller;
    uint32_t process;    /* index into processes */
    uint32_t unit;       /* index into units; 0: unknown */
    uint32_t thread;     /* index into threads; 0: unknown */
    uint32_t cpu_plus_1; /* number of the processor plus 1; 0: unknown */
    uint32_t pid;        /* id of the process; 0: unknown */
    uint32_t stack;      /* index of the innermost call or of an end; 0: no stack */
    bool by_name;        /* made with exact: the index uses its name too */
    uint64_t *hits;      /* one for each source */
};

/* Starts the sentence of profile.limits that names the only profiled region. */
#define PROFILE_REGION_ONLY "only the region "

/* The sentence of profile.limits that the user left kernel mode out. */
#define PROFILE_USER_ONLY "only user mode was profiled"

/* Starts the sentence of profile.gaps about running children of the processes that were
 * not profiled. */
#define PROFILE_CHILDREN_RUN "children are running: "

/* In sentences of profile.gaps about code for which no row could be made. */
#define PROFILE_GAP_MAPPING "mapping"

/* profile_label - a property that all rows share, such as the host. */
struct profile_label {
    const char *key;
    const char *value;
};

/* Keys of labels that ntprof agent sets: the machine, its boot id, and a random number
 * for each start of the recorder. */
#define PROFILE_LABEL_HOST "host"
#define PROFILE_LABEL_BOOT "boot"
#define PROFILE_LABEL_EPOCH "epoch"

/* Limits of a file. Each of its samples has a value for each source. */
enum { PROFILE_LABELS_MAX = 64, PROFILE_SOURCES_MAX = 1024 };

struct profile {
    char *command; /* command line, for display */
    char *hal;     /* back end used */
    /* why no better back end is in use, and what missing rights or the user's choice
     * left out; may be "" */
    char *limits;
    char *gaps;       /* what was not profiled; may be "" */
    uint64_t time_ns; /* start in UTC */
    uint64_t duration_ns;
    uint32_t bucket_bytes; /* of the widest; 0: of another tool, which has none */
    uint32_t bucket_least; /* of the narrowest, if there are several; else 0 */
    struct profile_source *sources;
    size_t source_count;
    struct profile_image *images;
    size_t image_count;
    struct profile_function *functions; /* [0] is empty */
    size_t function_count;
    struct profile_frame *frames; /* [0] is empty */
    size_t frame_count;
    struct profile_call *calls; /* [0] is "no stack" */
    size_t call_count;
    const char **processes;
    size_t process_count;
    const char **units; /* [0] is ""; systemd units, containers or control groups */
    size_t unit_count;
    const char **threads; /* [0] is ""; names or numbers */
    size_t thread_count;
    struct profile_label *labels; /* no key twice */
    size_t label_count;
    struct profile_row *rows;
    size_t row_count;
    /* Rows are those of a unit, an image or a build; statistics are of all there were,
     * so their hits outside are no part of what the rows add up to. */
    bool rows_selected;
    /* It was read from a store, which keeps no stacks, threads and processors. */
    bool of_store;
    /* This process looked for names and lines of it: doing so again would add none. */
    bool symbolized;
    struct profile_private *private; /* string pool, lookup tables */
};

/*
 * All functions that allocate return false (or NULL) if memory runs out; the profile
 * stays valid, and its owner deletes it.
 */
struct profile *profile_new(void);
void profile_delete(struct profile *profile); /* may be NULL */

/* Intern a copy; equal strings give equal pointers. Returns NULL if memory runs out. */
const char *profile_string(struct profile *profile, const char *text);

/* Add the statistics of another recording of a source; measured becomes the mean of all
 * hits taken. Returns false if a sum exceeds 64 bits; sum is then undefined. */
bool profile_source_add(struct profile_source *sum, const struct profile_source *more);

/* Find the first source of a name. Returns NULL if there is none. */
struct profile_source *profile_find_source(const struct profile *profile,
                                           const char *name);

/* Find the source with the same name, unit and granted interval. Returns NULL if there
 * is none. */
struct profile_source *profile_find_interval(const struct profile *profile,
                                             const struct profile_source *like);

/* Each finds or adds an entry and sets its index; strings are copied. A source is added
 * without its parts, and only while there are no rows: otherwise false. */
bool profile_add_source(struct profile *profile, const struct profile_source *source,
                        uint32_t *index);
bool profile_add_image(struct profile *profile, const struct profile_image *image,
                       uint32_t *index);
bool profile_add_function(struct profile *profile,
                          const struct profile_function *function, uint32_t *index);
bool profile_add_process(struct profile *profile, const char *name, uint32_t *index);
bool profile_add_unit(struct profile *profile, const char *name, uint32_t *index);
bool profile_add_thread(struct profile *profile, const char *name, uint32_t *index);

/* Add a label, or change its value. Returns false also if there are PROFILE_LABELS_MAX
 * others. */
bool profile_set_label(struct profile *profile, const char *key, const char *value);

/* Return the value of a label, or NULL if there is none. */
const char *profile_label(const struct profile *profile, const char *key);

/* Add a frame. Returns false also if its function or caller does not exist, or there is
 * no function. */
bool profile_add_frame(struct profile *profile, const struct profile_frame *frame,
                       uint32_t *index);

/*
 * Find or add a call or an end. A call that is known by caller, image and address keeps
 * its name, which may be changed; with by_name its function, line and inlined are keys
 * too. All calls of an image must be made in the same way. Returns false also if an
 * index does not exist, or an end has a caller, or a call has none.
 */
bool profile_add_call(struct profile *profile, const struct profile_call *call,
                      uint32_t *index);

/* Make room for so many more calls, so that the table grows once. Returns false if
 * memory runs out. */
bool profile_expect_calls(struct profile *profile, size_t more);

/* Return whether rows may have stacks. */
bool profile_has_stacks(const struct profile *profile);

/* Add hits of one source to the row with these keys, which is made if it is new. All
 * sources must have been added before the first row. An existing row keeps its function
 * and line; a line without a function is ignored. Returns false also if an index does
 * not exist. */
bool profile_add_hits(struct profile *profile, uint32_t image, uint64_t address,
                      uint32_t process, uint32_t function, uint32_t line,
                      uint32_t source, uint64_t hits);

/* profile_place - the keys of a row, its place among them, and its names. */
struct profile_place {
    uint32_t image;
    uint32_t process;
    uint64_t address;
    uint32_t function;
    uint32_t line;
    uint32_t caller;
    uint32_t unit;
    uint32_t thread;
    uint32_t cpu_plus_1;
    uint32_t pid;
    uint32_t stack;
};

/* Do the same with all members of a place. */
bool profile_add_hits_at(struct profile *profile, const struct profile_place *place,
                         uint32_t source, uint64_t hits);

/*
 * Find or make the row with these keys; a new one has no hits. With exact, code with
 * different names at one address has a row for each name, as is needed for run-time
 * addresses; otherwise a row keeps its first name. All rows of an image must be made in
 * the same way. Returns NULL if memory runs out or an index does not exist. The result
 * is valid until another row is made.
 */
struct profile_row *profile_row_at(struct profile *profile,
                                   const struct profile_place *place, bool exact);

/* Give each row width counters instead of those that it has: fill sets them (to), which
 * are zeroed, given the old ones (from). Nothing can be added afterwards. */
bool profile_change_hits(struct profile *profile, size_t width,
                         void (*fill)(void *context, const uint64_t *from,
                                      uint64_t *to),
                         void *context);

/* Keep only the rows and hits of one source, for display: nothing can be added
 * afterwards. */
void profile_keep_source(struct profile *profile, size_t source);

/* Sum rows that differ in nothing but their stacks, and remove all stacks. To be called
 * before buckets are joined (join.h). Returns false if memory runs out; the profile can
 * then only be deleted. */
bool profile_remove_stacks(struct profile *profile);

/* Return the index of the function in whose machine code a row's hits are; 0: none is
 * known. */
uint32_t profile_outer_function(const struct profile *profile,
                                const struct profile_row *row);

/* Sort rows, largest first (by source 0, then address). Call it once before writing or
 * reporting. */
void profile_sort(struct profile *profile);

#endif
