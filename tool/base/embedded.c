/* SPDX-License-Identifier: MIT */
/* embedded.c - finds files inside of the command's own. */
#include "base/embedded.h"

#include <string.h>

/* Made by scripts/embed_files.py, and linked with a command that is one file. An entry
 * without a name ends it. */
extern const struct embedded_file ntprof_embedded_files[] __attribute__((weak));

bool
embedded_is_used(void)
{
    return ntprof_embedded_files != NULL;
}

const struct embedded_file *
embedded_find(const char *name)
{
    for (const struct embedded_file *file = ntprof_embedded_files;
         file != NULL && file->name != NULL; file++) {
        if (strcmp(file->name, name) == 0) {
            return file;
        }
    }
    return NULL;
}
