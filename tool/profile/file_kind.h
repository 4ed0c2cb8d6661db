/* SPDX-License-Identifier: MIT */
/*
 * file_kind.h - what a file is that is no profile: people pass what other profilers
 * wrote. Each answer is a phrase for after "FILE: " that says what to do.
 */
#ifndef PROFILE_FILE_KIND_H
#define PROFILE_FILE_KIND_H

#include <stddef.h>

/* By its first bytes, which no profile has. NULL: it may be one. */
const char *file_kind_known(const void *bytes, size_t size);

/* Of a file that turned out to be no profile, by how its first lines look. NULL: it is
 * not even text. */
const char *file_kind_guess(const void *bytes, size_t size);

/* Enough bytes for the answers of both. */
enum { FILE_KIND_BYTES = 4096 };

#endif
