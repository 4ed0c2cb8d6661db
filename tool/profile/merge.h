/* SPDX-License-Identifier: MIT */
/*
 * merge.h - profiles added up: exact sums, whatever the order in which they are
 * bracketed.
 *
 * Images are one if they are the same build: the same build-id under the same file
 * name, or, where there is none, the same path. Addresses are those of the first
 * profile that has the image. Where addresses are those of a run (the kernel, JIT code)
 * or the build is not known, code that is called differently stays apart.
 */
#ifndef PROFILE_MERGE_H
#define PROFILE_MERGE_H

#include "profile/pprof.h"

struct profile_merger;

/* NULL: out of memory. */
struct profile_merger *profile_merger_new(void);
void profile_merger_delete(struct profile_merger *merger); /* NULL is allowed */

/*
 * Adds a profile, which is the merger's from then on, also on failure. False with the
 * error set if it does not go with those before: another bucket size, another interval
 * of a source, sums beyond what a file holds; or out of memory. The merger is only to
 * be deleted then.
 */
bool profile_merger_add(struct profile_merger *merger, struct profile *profile,
                        struct pprof_error *error);

/*
 * The sum, which is the caller's from then on: what was added if that was one profile.
 * NULL with the error set if there was none.
 */
struct profile *profile_merger_take(struct profile_merger *merger,
                                    struct pprof_error *error);

#endif
