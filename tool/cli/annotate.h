/* SPDX-License-Identifier: MIT */
/* annotate.h - what the files of ntprof annotate share. */
#ifndef CLI_ANNOTATE_H
#define CLI_ANNOTATE_H

#include "cli/source_dirs.h"
#include "input/input.h"
#include "symbols/client/names.h"
#include "view/listing/listing.h"

/* annotate_arguments - as given on the command line. */
struct annotate_arguments {
    struct input_options input;
    const char *what; /* what to annotate; NULL: the first row of the report */
    const char *file;
    const char *image;  /* glob of --image; NULL: all */
    const char *source; /* the source whose hits are shown; NULL: all */
    enum listing_view view;
    struct annotator_settings settings;
    struct source_dirs dirs; /* backs settings.prefixes */
    uint32_t context;
    size_t rows;
    struct names_options names;
    bool bytes;
    bool json;
};

/* annotate_choose - find the target that was named, or the first row of the report. For
 * what has no hits, rows without hits are added to the profile. Returns false after an
 * error line. */
bool annotate_choose(struct profile *profile,
                     const struct annotate_arguments *arguments,
                     struct listing_target *target);

/* annotate_file - read the profile and print the listing. Returns the exit status. */
int annotate_file(struct annotate_arguments *arguments);

#endif
