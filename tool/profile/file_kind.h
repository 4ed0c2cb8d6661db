/* SPDX-License-Identifier: MIT */
/*
 * file_kind.h - what a file is that is no profile: people pass what other profilers
 * wrote. Each answer is a phrase that follows "FILE: " in a message and says what to
 * do.
 */
#ifndef PROFILE_FILE_KIND_H
#define PROFILE_FILE_KIND_H

#include <stddef.h>

/* Describe a file that is certainly no profile, by its first bytes. NULL: it may be a
 * profile. */
const char *file_kind_known(const void *bytes, size_t size);

/* Describe a file that could not be decoded as a profile, by its first lines. NULL: it
 * is no text. */
const char *file_kind_guess(const void *bytes, size_t size);

/* Enough bytes for the answers of both. */
enum { FILE_KIND_BYTES = 4096 };

#endif
