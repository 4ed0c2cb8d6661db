/* SPDX-License-Identifier: MIT */
/*
 * whole_file.h - files that are written whole or not at all.
 *
 * What is written goes into a new file beside the one that is to be replaced: without a
 * name where the system has such (so that a writer who is killed meanwhile leaves
 * nothing), else .FILE.ntprof-XXXXXX. At the end the one without a name has such a name
 * too, between its link and its rename: who is killed just then leaves
 * .FILE.ntprof-XXXXXX, whole, and the same of the old file while it is kept; the next
 * whole_file_check of FILE removes it. Until whole_file_replace FILE is what it was,
 * and its mode is kept. Symbolic links are followed (file_place.h) and stay. Devices,
 * and pipes of the caller, are written in place, and so is standard output, called "-".
 */
#ifndef UTIL_WHOLE_FILE_H
#define UTIL_WHOLE_FILE_H

#include "util/file_place.h"

#include <stdbool.h>
#include <stdio.h>

/* An error in words, for people: on what, what failed, why. */
struct whole_file_error {
    char text[512];
};

/* whole_file - one that is being written; it stays where it is. All but stream is
 * whole_file.c's own. */
struct whole_file {
    FILE *stream;            /* write here; that it failed is told at the end */
    const char *noun;        /* what is written, for messages */
    const char *path;        /* as the user knows it */
    struct file_place place; /* of what is replaced */
    char *temporary;         /* name of the new file, NULL while it has none */
    int fd;                  /* of the new file */
    int lock_fd;             /* the same while it is renamed, for its lock; -1 */
    bool in_place;           /* fd is what path names: nothing is replaced */
    int write_errno;         /* of the first write that failed, 0: none did */
};

/*
 * Begins a file. On failure there is nothing to replace or to discard.
 *
 *   path  outlives the file, and so does noun
 *   noun  what is written, in messages: "profile"
 */
bool whole_file_open(struct whole_file *file, const char *path, const char *noun,
                     struct whole_file_error *error);

/*
 * Ends the file and puts it in its place; with keep_it, what was there becomes path.old
 * by a hard link. False: all is as it was before (what was written in place is not
 * taken back), and errno tells why: EPIPE if a reader had enough. The file is finished
 * in either case.
 */
bool whole_file_replace(struct whole_file *file, bool keep_it,
                        struct whole_file_error *error);

/* Ends the file and leaves what was there. */
void whole_file_discard(struct whole_file *file);

/* Can path be written? Asked before work begins; leaves nothing behind. */
bool whole_file_check(const char *path, const char *noun,
                      struct whole_file_error *error);

#endif
