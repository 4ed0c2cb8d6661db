/* SPDX-License-Identifier: MIT */
/* source_dirs.h - the values of --source-dir: where sources are that were compiled
 * elsewhere. */
#ifndef CMD_SOURCE_DIRS_H
#define CMD_SOURCE_DIRS_H

#include "annotate/listing.h"

#include <stdbool.h>
#include <stddef.h>

/* source_dirs - all zero: none. */
struct source_dirs {
    struct listing_prefix *list;
    size_t count;
};

/* Adds OLD=NEW, or NEW alone for all relative paths. value is cut at the sign and must
 * stay. False after an error line. */
bool source_dirs_add(struct source_dirs *dirs, const char *command, char *value);
void source_dirs_finish(struct source_dirs *dirs);

#endif
