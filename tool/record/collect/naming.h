/* SPDX-License-Identifier: MIT */
/*
 * naming.h - turns counts into the rows and sources of a profile: addresses, functions,
 * lines and statistics.
 *
 * A naming keeps the symbols that it read, or the means to read them again. So profiles
 * can be made repeatedly, even of images whose process has exited or whose file was
 * deleted. It is used by one thread.
 */
#ifndef RECORD_COLLECT_NAMING_H
#define RECORD_COLLECT_NAMING_H

#include "profile/profile.h"
#include "record/collect/callers.h"
#include "record/collect/image.h"

struct naming;
struct sym_settings;

/*
 * Create a naming. Returns NULL if memory runs out.
 *
 *   memory_max  limit of the whole process in bytes; 0: none. Above half of it, symbols
 *               are freed and read again when needed. The names of one image may use
 *               half of it, or 64 MiB if that is more.
 *   symbols     copied; NULL: all zero
 */
struct naming *naming_new(uint64_t memory_max, const struct sym_settings *symbols);

void naming_delete(struct naming *naming); /* NULL is allowed */

/* naming_program - what the profile's rows of a program refer to, as indexes in its
 * tables of processes and of units. */
struct naming_program {
    uint32_t process;
    uint32_t unit;
};

/* Set the programs of the next profile, by their number. They are borrowed. */
void naming_set_programs(struct naming *naming, const struct naming_program *programs);

/* naming_thread - the same of a thread, with the pid of its process. */
struct naming_thread {
    uint32_t thread;
    uint32_t pid;
};

/* Set the threads of the next profile, by their number; the first is that of unknown
 * ones. Takes ownership of them; NULL: there are none. */
void naming_set_threads(struct naming *naming, struct naming_thread *threads);

/*
 * From now on the counts are apart by processor: in a count, the number of program p on
 * processor cpus[i] is p * count + i. cpus must outlive the naming. Initially all
 * processors count together, as with count 1 and cpus NULL.
 */
void naming_set_cpus(struct naming *naming, const uint32_t *cpus, uint32_t count);

/* Set how much processor time readers of symbols may take from now on; UINT64_MAX, as
 * at first: only the limit of each profile holds. What is not read for lack of it is
 * tried again for later profiles. headers_ns is for headers when nothing is left: rows
 * have build-ids and addresses then, by which later names are theirs too. */
void naming_set_time(struct naming *naming, uint64_t left_ns, uint64_t headers_ns);

/* naming_stacks - callers of the hits of one source, for one profile. */
struct naming_stacks {
    struct callers *callers; /* whose readers are asked for names, too */
    struct callers_cut *cut; /* its owners have numbers of images */
    uint32_t source;
    bool recent;               /* rows will be those of image->taken, not totals */
    uint64_t stack_bytes;      /* that were copied at most */
    uint64_t ends[STACK_ENDS]; /* out: hits by how their stacks end */
};

/* Return how files are read, as long as the naming lives. */
const struct sym_settings *naming_symbols(const struct naming *naming);

/* Set the callers of the next profile. They are borrowed; NULL: there are none. */
void naming_set_stacks(struct naming *naming, struct naming_stacks *stacks);

/* Announce the last profile: symbols of an image are freed once its rows are made. */
void naming_end(struct naming *naming);

/* Add a source of the session with its statistics. Returns false if memory runs out. */
bool naming_add_source(struct profile *profile, const ntprof_source_info *info,
                       const char *name, bool user_left_out);

/*
 * Prepare for the rows of a profile: read the perf maps of processes with new hits. A
 * file that several processes share is read once, and at most 256 MiB in all. Names may
 * then use 30 s of the thread's processor time. Returns false if memory runs out.
 *
 *   images  the index of an image here is its number
 */
bool naming_begin(struct naming *naming, struct image *const *images, size_t count,
                  const struct profile *profile);

/*
 * Add all calls of the stacks that were set, so that rows can refer to them. Called
 * once, after naming_begin and before rows are added, if there are any stacks. Returns
 * false if memory runs out.
 *
 *   images  as for naming_begin
 */
bool naming_add_calls(struct naming *naming, struct profile *profile,
                      struct image *const *images, size_t count);

/*
 * Add the counts of an image as rows with address, function and line. Addresses of
 * files are link-time addresses; kernel rows have the module's name. Buckets are
 * enlarged to the profile's bucket_bytes. The image's descriptor stays open. Returns
 * false if memory runs out.
 *
 *   counts  taken or totals of the image, merged
 *   number  of the image, the same in each call
 */
bool naming_add_rows(struct naming *naming, struct profile *profile,
                     struct image *image, const struct counts *counts, size_t number);

/* Move the symbols of an image to another number, which has none or the same, because
 * the image has it now. */
void naming_move(struct naming *naming, size_t from, size_t to);

/* Free the symbols of an image that does not exist any more. */
void naming_remove(struct naming *naming, size_t number);

/* The hits of an image were freed: the namer, which remembers how many of them it has
 * seen, is to count from 0 again. */
void naming_forget_hits(struct naming *naming, size_t number);

/* Number of JIT maps that were freed to save memory and could not be read again. */
uint64_t naming_unnamed(const struct naming *naming);

/* Number of images some of whose names would have cost too much memory or time; each
 * was reported once. */
uint64_t naming_bounded_images(const struct naming *naming);

/* Number of processes whose perf map exists, or may exist, and was not read; each was
 * reported once. why is set to the reason of the last one, or "". */
uint64_t naming_refused_maps(const struct naming *naming, const char **why);

#endif
