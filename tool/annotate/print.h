/* SPDX-License-Identifier: MIT */
/* print.h - a listing on a terminal, and as JSON. All names are escaped (text.h). */
#ifndef ANNOTATE_PRINT_H
#define ANNOTATE_PRINT_H

#include "annotate/listing.h"

#include <stdio.h>

#define LISTING_ALL_SOURCES SIZE_MAX

struct listing_print_options {
    size_t source; /* the one whose hits are shown; or LISTING_ALL_SOURCES */
    bool color;
    bool utf8;  /* brackets and arrows of lines, else of ASCII */
    int width;  /* columns of the terminal; 0: do not cut */
    bool bytes; /* of instructions, too */
};

/*
 * Prints what is not hidden, and the notes under it. Shares are of all hits that the
 * listing has. False: out of memory, or out failed.
 */
bool listing_print_text(FILE *out, const struct profile *profile,
                        const struct listing *listing,
                        const struct listing_print_options *options);

/* Everything, hidden or not: docs/schema/annotate.schema.json. */
bool listing_print_json(FILE *out, const struct profile *profile,
                        const struct listing *listing);

/* What a text may mean, to be chosen from. */
bool listing_print_targets(FILE *out, const struct profile *profile,
                           const struct listing_targets *targets);

#endif
