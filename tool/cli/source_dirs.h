/* SPDX-License-Identifier: MIT */
/* source_dirs.h - the values of --source-dir: directories with sources that were
 * compiled elsewhere. */
#ifndef CLI_SOURCE_DIRS_H
#define CLI_SOURCE_DIRS_H

#include "base/options.h"
#include "view/listing/listing.h"

#include <stdbool.h>
#include <stddef.h>

/* source_dirs - all zero is empty. */
struct source_dirs {
    struct listing_prefix *list;
    size_t count;
};

/* source_dirs_take - take OLD=NEW, or NEW for all relative paths, into struct
 * source_dirs. The value is split at the equals sign and must outlive the struct. */
options_take_one source_dirs_take;
void source_dirs_finish(struct source_dirs *dirs);

#endif
