/* SPDX-License-Identifier: MIT */
/*
 * preload_object.h - the file of the preload object: installed beside the command, or a
 * sealed file in memory that programs inherit, if the command is one file.
 */
#ifndef RECORD_PRELOAD_OBJECT_H
#define RECORD_PRELOAD_OBJECT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct preload_object {
    int fd;              /* programs inherit it under this number; or -1 */
    char path[PATH_MAX]; /* for LD_PRELOAD */
};

/*
 * preload_object_open - find the object, or make its file. Returns false with the
 * reason in why if that is not possible; nothing is open then.
 *
 *   i386  that for 32-bit programs
 */
bool preload_object_open(struct preload_object *object, bool i386, char *why,
                         size_t why_size);

void preload_object_close(struct preload_object *object);

#endif
