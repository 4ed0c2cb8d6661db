/* SPDX-License-Identifier: MIT */
/*
 * html_page.h - pages that show a profile, without their data: made of page/ at build
 * time by scripts/make_page.py.
 */
#ifndef VIEW_EXPORT_HTML_PAGE_H
#define VIEW_EXPORT_HTML_PAGE_H

#include "view/export/export.h"

struct html_page {
    const unsigned char *before; /* the data */
    size_t before_size;
    const unsigned char *after;
    size_t after_size;
    const char *policy; /* Content-Security-Policy, for a header */
};

extern const struct html_page html_page_of_file;  /* of export --format html */
extern const struct html_page html_page_of_store; /* of serve */

/*
 * html_write_page - write a page with a profile in it.
 *
 *   more  in: script elements with data of the page's own; "" for none
 *
 * Returns false as an export_writer does.
 */
bool html_write_page(FILE *out, const struct html_page *page, const char *more,
                     const struct profile *profile,
                     const struct export_options *options,
                     struct export_messages *messages);

/* html_put_escaped_json - append JSON with '<', '>' and '&' escaped, so that no text in
 * it can end a script element. Outside of texts JSON does not have these. */
struct buffer;
void html_put_escaped_json(struct buffer *out, const char *json, size_t size);

#endif
