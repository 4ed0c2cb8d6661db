/* SPDX-License-Identifier: MIT */
/*
 * debug_file.h - finds the separate debug file of an image, and checks that it belongs
 * to the image.
 */
#ifndef SYMBOLS_READER_DEBUG_FILE_H
#define SYMBOLS_READER_DEBUG_FILE_H

#include "symbols/reader/elf_file.h"
#include "symbols/reader/reader.h"

#include <limits.h>

/* sym_debug_file - a debug file that was found. Its links to further files are relative
 * to its path and root. */
struct sym_debug_file {
    int fd;           /* -1: none */
    const char *root; /* path is below it */
    char path[PATH_MAX];
};

/*
 * Look for the debug file, by build-id (which must be in the file found), by debuglink
 * (whose CRC must fit, and the build-id if both have one), and then at servers, by
 * build-id.
 *
 *   image  open
 *   path   where the image was mapped from, as seen in root
 *   root   "" or the folder that stands for "/" there; our own root is searched after
 *          it. It must outlive found
 *   found  out: the descriptor is the caller's
 *   note   out: "" or why a file that was found is not used
 */
void sym_debug_file_open(const struct sym_elf *image, const char *path,
                         const char *root, const struct sym_files *files,
                         struct sym_debug_file *found, char *note, size_t note_size);

/*
 * Look for the file that a debug file shares with others (dwz), by the name and the
 * build-id in its .gnu_debugaltlink; the build-id must be in the file found.
 *
 *   file   open, found at path below root
 *   found  out: fd -1 also if there is no such link
 *   note   out: "" or why a file is not used
 */
void sym_debug_file_open_supplement(const struct sym_elf *file, const char *path,
                                    const char *root, const struct sym_files *files,
                                    struct sym_debug_file *found, char *note,
                                    size_t note_size);

#endif
