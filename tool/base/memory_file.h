/* SPDX-License-Identifier: MIT */
/* memory_file.h - files that are only in memory, and can be sealed. */
#ifndef BASE_MEMORY_FILE_H
#define BASE_MEMORY_FILE_H

/*
 * memory_file_create - make an empty file of a name, which /proc shows. Its descriptor
 * is none of the standard streams: these may be closed, and messages would be written
 * into the file. It is closed by exec. Returns -1 and sets errno if that fails.
 */
int memory_file_create(const char *name);

#endif
