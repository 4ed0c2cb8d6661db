/* SPDX-License-Identifier: MIT */
/* print.h - prints a listing as text and as JSON. All names are escaped (text.h). */
#ifndef VIEW_LISTING_PRINT_H
#define VIEW_LISTING_PRINT_H

#include "view/listing/listing.h"

#include <stdio.h>

#define LISTING_ALL_SOURCES SIZE_MAX

struct listing_print_options {
    size_t source; /* the source whose hits are shown, or LISTING_ALL_SOURCES */
    bool color;
    bool utf8;  /* line-drawing brackets and arrows, otherwise ASCII */
    int width;  /* columns of the terminal; 0: do not cut */
    bool bytes; /* show the bytes of instructions too */
};

/*
 * listing_print_text - print the lines that are not hidden, and the notes below them.
 * Shares are of all hits of the target. Returns false if memory runs out or writing to
 * out fails.
 */
bool listing_print_text(FILE *out, const struct profile *profile,
                        const struct listing *listing,
                        const struct listing_print_options *options);

/* listing_print_json - print all lines, hidden or not, as in
 * docs/schema/annotate.schema.json. Returns false as listing_print_text does. */
bool listing_print_json(FILE *out, const struct profile *profile,
                        const struct listing *listing);

/* listing_print_targets - print possible targets for the user to choose from. Returns
 * false if memory runs out. */
bool listing_print_targets(FILE *out, const struct profile *profile,
                           const struct listing_targets *targets);

#endif
