/* SPDX-License-Identifier: MIT */
/*
 * debug_file.h - finds the separate debug file of an image, and believes it only when it is checked.
 */
#ifndef SYM_DEBUG_FILE_H
#define SYM_DEBUG_FILE_H

#include "sym/elf_file.h"

/*
 * Look for the debug file, by build-id (which must be in the file found) and then by debuglink
 * (whose CRC must fit, and the build-id if both have one).
 *
 *   image  open
 *   path   where the image was mapped from, as seen in root
 *   root   "" or the folder that stands for "/" there; our own root is searched behind it
 *   note   out: "" or why a file that was found is not used
 *
 * The descriptor or -1.
 */
int sym_debug_file_open(const struct sym_elf *image, const char *path, const char *root,
                        char *note, size_t note_size);

#endif
