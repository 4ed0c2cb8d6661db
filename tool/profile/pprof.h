/* SPDX-License-Identifier: MIT */
/*
 * pprof.h - profiles as pprof files (gzip protobuf): what `go tool pprof`, speedscope,
 * Pyroscope and Parca open as it is. docs/format.md lists our labels and comments.
 */
#ifndef PROFILE_PPROF_H
#define PROFILE_PPROF_H

#include "profile/profile.h"

/* An error in words, for people: what failed, on what, why. */
struct pprof_error {
    char text[512];
};

/* Serialises to memory (malloc'd, gzipped). False: out of memory. */
bool pprof_encode(const struct profile *profile, void **bytes, size_t *size);

/*
 * Writes whole to a temporary name in the same folder and renames; what had that name
 * before becomes PATH.old. On failure nothing named path has changed.
 */
bool pprof_write(const struct profile *profile, const char *path,
                 struct pprof_error *error);

/* The same, but what had the name before is not kept: for the file of the same profile,
 * grown. */
bool pprof_rewrite(const struct profile *profile, const char *path,
                   struct pprof_error *error);

/* Can path be rewritten: is it, or will it be, a regular file? */
bool pprof_check_rewritable(const char *path, struct pprof_error *error);

/* Can path be written? Asked before a command starts; leaves nothing behind. */
bool pprof_check_writable(const char *path, struct pprof_error *error);

/* Reads a file, ours or foreign (leaf addresses then); hostile bytes give an error.
 * NULL then. */
struct profile *pprof_read(const char *path, struct pprof_error *error);

/*
 * What a profile may take in memory while it is decoded, expanded bytes and tables
 * together: the base and so many times the size of the file, never more than the
 * maximum. Profiles of ours take 25 times.
 */
#define PPROF_MEMORY_BASE (UINT64_C(256) << 20)
#define PPROF_MEMORY_RATIO 64
#define PPROF_MEMORY_MAX (UINT64_C(4) << 30)

/* The same from memory, gzipped or not. */
struct profile *pprof_decode(const void *bytes, size_t size, struct pprof_error *error);

#endif
