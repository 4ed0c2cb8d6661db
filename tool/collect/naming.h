/* SPDX-License-Identifier: MIT */
/*
 * naming.h - from what was counted to a profile that people can read: addresses, functions, lines and
 * the books of the sources. All return false when memory runs out.
 */
#ifndef COLLECT_NAMING_H
#define COLLECT_NAMING_H

#include "collect/image.h"
#include "profile/profile.h"

/* Adds a source of the session as a column. */
bool naming_add_source(struct profile *profile, ntprof_session *session,
                       KPROFILE_SOURCE source);

/* Fills in the books of the columns, which are the sources in their order. */
bool naming_read_books(struct profile *profile, ntprof_session *session,
                       const KPROFILE_SOURCE *sources, size_t source_count);

/*
 * Adds the counts of an image as rows, with address, function and line: link-time addresses of
 * files, the module's name for kernel code. Buckets grow to the profile's bucket_bytes. Takes the image's
 * descriptor.
 */
bool naming_add_rows(struct profile *profile, struct image *image);

#endif
