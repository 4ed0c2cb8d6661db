/* SPDX-License-Identifier: MIT */
/*
 * pprof.h - profiles as pprof files (gzip protobuf), which `go tool pprof`, speedscope,
 * Pyroscope and Parca open directly. docs/format.md lists our labels and comments.
 */
#ifndef PROFILE_PPROF_H
#define PROFILE_PPROF_H

#include "profile/profile.h"

struct wire;

/* An error for the user: what failed, on what, why. */
struct pprof_error {
    char text[512];
    bool lasting;   /* only if store_add failed: it will fail again with this profile */
    bool busy;      /* only of a store: another program has locked it */
    bool no_window; /* only if store_read failed: it has none that is selected */
};

/* The error of pprof_decode if memory ran out, so the bytes may be right. */
#define PPROF_OUT_OF_MEMORY "out of memory"

/* Serialise to memory (malloc'd, gzipped). Returns false if memory runs out. */
bool pprof_encode(const struct profile *profile, void **bytes, size_t *size);

/*
 * Write a complete file under a temporary name in the same folder and rename it; an
 * existing file becomes PATH.old. On failure path is unchanged.
 */
bool pprof_write(const struct profile *profile, const char *path,
                 struct pprof_error *error);

/* Do the same again and again. Once *written is set, which the first success does, the
 * existing file is an earlier state of the same profile and is not kept. */
bool pprof_rewrite(const struct profile *profile, const char *path, bool *written,
                   struct pprof_error *error);

/* Check that path is a regular file or does not exist yet, so that it can be rewritten:
 * standard output ("-") cannot. */
bool pprof_check_rewritable(const char *path, struct pprof_error *error);

/* Check that path can be written, before a command starts. Leaves no file. */
bool pprof_check_writable(const char *path, struct pprof_error *error);

/* Read a file ("-": standard input) in a process without rights, ours or foreign. The
 * bytes may come from anyone. Returns NULL with the error set on failure. */
struct profile *pprof_read(const char *path, struct pprof_error *error);

/* pprof_choice - what is read of a file. */
struct pprof_choice {
    /* Of a foreign file, the only column of its values that is read, of any unit: its
     * name, or NAME/UNIT. NULL: those that pprof_read takes. */
    const char *value;
    bool flat; /* sum over stacks */
};

/* Do the same with a choice. */
struct profile *pprof_read_choice(const char *path, const struct pprof_choice *choice,
                                  struct pprof_error *error);

/* The sandbox_work of that process. */
void pprof_serve(struct wire *wire);

/*
 * Limit of the memory for decoding, including expanded bytes and tables: the base plus
 * PPROF_MEMORY_RATIO times the size of the file, and at most the maximum. Our own
 * profiles need 25 times their size.
 */
#define PPROF_MEMORY_BASE (UINT64_C(256) << 20)
#define PPROF_MEMORY_RATIO 64
#define PPROF_MEMORY_MAX (UINT64_C(4) << 30)

/* Do the same from memory, gzipped or not. */
struct profile *pprof_decode(const void *bytes, size_t size, struct pprof_error *error);
struct profile *pprof_decode_choice(const void *bytes, size_t size,
                                    const struct pprof_choice *choice,
                                    struct pprof_error *error);

#endif
