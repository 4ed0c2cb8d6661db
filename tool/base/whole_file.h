/* SPDX-License-Identifier: MIT */
/*
 * whole_file.h - writes files completely or not at all.
 *
 * Data is written to a new file beside the one to replace. The new file has no name
 * where the system supports that, so that a killed writer leaves nothing, and gets its
 * own name at the end if there is no old file. Otherwise it is .FILE.ntprof-XXXXXX:
 * from the start where files without a name are not supported, else only between its
 * link and its rename. A writer that is killed while there is such a name leaves it,
 * and likewise one of the old file while that is being kept. The next whole_file_check
 * of FILE removes these. Until whole_file_replace FILE is unchanged; its mode and group
 * are kept, as far as the caller may. Symbolic links are followed (file_place.h) and
 * stay. Devices, the caller's own pipes and standard output, called "-", are written in
 * place.
 */
#ifndef BASE_WHOLE_FILE_H
#define BASE_WHOLE_FILE_H

#include "base/file_place.h"

#include <stdbool.h>
#include <stdio.h>

/* An error for the user: on what, what failed, why. */
struct whole_file_error {
    char text[512];
};

/* whole_file - a file that is being written; it must not move. Only stream is for
 * callers. */
struct whole_file {
    FILE *stream;            /* write here; failures are reported at the end */
    const char *noun;        /* the kind of data, for messages */
    const char *path;        /* as the user wrote it */
    struct file_place place; /* of the file to replace */
    char *temporary;         /* name of the new file; NULL: it has none yet */
    int fd;                  /* of the new file */
    bool in_place;           /* fd is the file of path, and nothing is replaced */
    int write_errno;         /* of the first write that failed; 0: none failed */
};

/*
 * Open a file for writing. After a failure neither replace nor discard may be called.
 *
 *   path  must outlive the file, as must noun
 *   noun  the kind of data, for messages: "profile"
 */
bool whole_file_open(struct whole_file *file, const char *path, const char *noun,
                     struct whole_file_error *error);

/* Let nobody but the caller read or change the file, whatever the mode of the old one
 * is. Call it before anything is written. */
void whole_file_keep_private(struct whole_file *file);

/*
 * Complete the file and rename it to its place; with keep_it, the old file becomes
 * path.old by a hard link. Returns false if everything is as it was before, except what
 * was written in place; errno has the reason: EPIPE if a reader closed its pipe. The
 * file is released in either case.
 */
bool whole_file_replace(struct whole_file *file, bool keep_it,
                        struct whole_file_error *error);

/* Discard the new file; the old one stays. */
void whole_file_discard(struct whole_file *file);

/* Check that path can be written, before any work is done. Leaves no file. */
bool whole_file_check(const char *path, const char *noun,
                      struct whole_file_error *error);

/* Write all bytes to a descriptor, in as many steps as it takes; a full pipe that does
 * not block is waited for. Returns false with errno. */
bool whole_file_write(int fd, const void *bytes, size_t size);

#endif
