/* SPDX-License-Identifier: MIT */
/*
 * naming.h - from what was counted to a profile that people can read: addresses,
 * functions, lines and the statistics of the sources.
 *
 * A naming keeps what it read, or the way to read it again, so that a profile can be
 * made again and again, also of images whose process or file has gone meanwhile. One
 * thread.
 */
#ifndef COLLECT_NAMING_H
#define COLLECT_NAMING_H

#include "collect/image.h"
#include "profile/profile.h"

struct naming;
struct sym_settings;

/*
 * NULL: out of memory.
 *
 *   memory_max  bytes of the whole process; 0: no limit. From half of it on what was
 *               read is given up again, and read anew the next time that it is needed;
 *               names of one image may take half of it, or 64 MiB
 *   symbols     copied; NULL: all zero
 */
struct naming *naming_new(uint64_t memory_max, const struct sym_settings *symbols);

void naming_delete(struct naming *naming); /* NULL is allowed */

/*
 * Counts are of programs on processors from now on: program * count + index of the
 * processor in cpus, which must stay. With count 1 and cpus NULL, as at first, they are
 * of programs.
 */
void naming_tell_cpus(struct naming *naming, const uint32_t *cpus, uint32_t count);

/* Each image is asked for once more, or hardly more often: what was read of it does not
 * stay after its rows. */
void naming_end(struct naming *naming);

/* Adds a source of the session as a column, with its statistics. False: out of memory.
 */
bool naming_add_source(struct profile *profile, const ntprof_source_info *info,
                       const char *name, bool user_left_out);

/*
 * Before the rows of a profile: reads the perf maps of processes with hits since then,
 * each file once, also if several processes share it, and 256 MiB of them at most. From
 * then on all names may take 30 s of the thread's processor time. False: out of memory.
 *
 *   images  their numbers are their places here
 */
bool naming_begin(struct naming *naming, struct image *const *images, size_t count,
                  const struct profile *profile);

/*
 * Adds counts of an image as rows, with address, function and line: link-time addresses
 * of files, the module's name for kernel code. Buckets grow to the profile's
 * bucket_bytes. Leaves the image's descriptor as it is. False: out of memory.
 *
 *   counts  the image's taken or totals, merged
 *   number  of the image, the same at each call
 */
bool naming_add_rows(struct naming *naming, struct profile *profile,
                     struct image *image, const struct counts *counts, size_t number);

/* JIT maps that were given up for want of memory and could not be read again. */
uint64_t naming_unnamed(const struct naming *naming);

/* Images of which something would have cost too much memory or time: said, once each.
 */
uint64_t naming_bounded_images(const struct naming *naming);

/* Processes whose perf map is there and was not read: said why, once each. */
uint64_t naming_refused_maps(const struct naming *naming);

#endif
