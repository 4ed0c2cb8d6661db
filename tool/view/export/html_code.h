/* SPDX-License-Identifier: MIT */
/*
 * html_code.h - source and instructions of the hottest functions, put into the page
 * while the files are there to be read. Only tool/view/export includes it.
 */
#ifndef VIEW_EXPORT_HTML_CODE_H
#define VIEW_EXPORT_HTML_CODE_H

#include "view/export/export.h"
#include "view/export/function_names.h"

#include <stdio.h>

/* The code of a page ends where it takes more than this. */
#define HTML_CODE_BYTES_MAX (UINT64_C(16) << 20)

/* html_code - what became of it. */
struct html_code {
    size_t functions; /* with hits, and a name or bounds */
    size_t listed;    /* whose code, or why there is none, is in the page */
    bool full;        /* HTML_CODE_BYTES_MAX was the end of it */
};

/*
 * Write script elements with listings of the functions that have the largest share of
 * the hits of any source: for each one of its machine code, with the functions inlined
 * there, or of only the notes why there is none; and one of its source lines, if any
 * could be read.
 *
 *   options  the number of listings, and where files are searched for
 *   done     out: what was written
 *
 * Returns false if memory ran out.
 */
bool html_write_code(FILE *out, const struct profile *profile,
                     const struct function_names *names,
                     const struct export_options *options, struct html_code *done);

#endif
