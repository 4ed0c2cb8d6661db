/* SPDX-License-Identifier: MIT */
/*
 * merge.h - adds profiles up: exact sums that do not depend on how additions are
 * grouped.
 *
 * Images are the same if their builds are: the same build-id with the same file name
 * or, without a build-id, the same path. Addresses are those of the first profile that
 * has the image. Where addresses are of one run (kernel, JIT code) or the build is
 * unknown, code with different names is kept separate.
 */
#ifndef PROFILE_MERGE_H
#define PROFILE_MERGE_H

#include "profile/pprof.h"

struct profile_merger;

/* Create a merger. Returns NULL if memory runs out. */
struct profile_merger *profile_merger_new(void);
void profile_merger_delete(struct profile_merger *merger); /* may be NULL */

/*
 * Add a profile and take ownership of it, also on failure. Returns false with the error
 * set if it does not fit the ones before (bucket size, interval of a source), if sums
 * exceed the limits of a file, or if memory runs out. After that the merger must be
 * deleted.
 */
bool profile_merger_add(struct profile_merger *merger, struct profile *profile,
                        struct pprof_error *error);

/*
 * Return the sum, which the caller then owns; a single profile is returned unchanged.
 * Returns NULL with the error set if none was added.
 */
struct profile *profile_merger_take(struct profile_merger *merger,
                                    struct pprof_error *error);

#endif
