/* SPDX-License-Identifier: MIT */
/* source_dirs.h - the values of --source-dir: directories with sources that were
 * compiled elsewhere. */
#ifndef CLI_SOURCE_DIRS_H
#define CLI_SOURCE_DIRS_H

#include "view/listing/listing.h"

#include <stdbool.h>
#include <stddef.h>

/* source_dirs - all zero is empty. */
struct source_dirs {
    struct listing_prefix *list;
    size_t count;
};

/* Add OLD=NEW, or NEW for all relative paths. value is split at the equals sign and
 * must outlive dirs. Returns false after an error line. */
bool source_dirs_add(struct source_dirs *dirs, const char *command, char *value);
void source_dirs_finish(struct source_dirs *dirs);

#endif
