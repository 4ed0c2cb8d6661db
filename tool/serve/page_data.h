/* SPDX-License-Identifier: MIT */
/* page_data.h - the data of the selection on top of a page, as JSON in script
 * elements. */
#ifndef SERVE_PAGE_DATA_H
#define SERVE_PAGE_DATA_H

#include "serve/serve.h"
#include "store/overview.h"

#include "base/buffer.h"

struct diff;

/* page_data - what page_data_put writes; all of it is borrowed. */
struct page_data {
    const struct serve_query *query;
    const struct store_selection *selection; /* with since_ns and until_ns */
    const struct store_selection *old;       /* of the old side, with times, too; NULL:
                                              * nothing is compared */
    const struct store_overview *overview;
    int64_t first_ns;    /* start of the store's first window; 0 if it is empty */
    int64_t last_ns;     /* end of its last one; 0 if it is empty */
    bool empty;          /* the store has no windows */
    bool timed;          /* the members selection and old have their times */
    bool elsewhere;      /* no window has the selected time, hosts and labels */
    const char *refused; /* why nothing is shown; "" */
    const char *text;    /* the store's URL as the user wrote it */
    const struct store_url *url; /* the same URL, parsed */
};

/* page_data_put - append the script element with the data of the selection. */
void page_data_put(struct buffer *html, const struct page_data *data);

/* page_data_put_commands - append commands that give an empty store its first windows,
 * each as [what it adds, line to type]. */
void page_data_put_commands(struct buffer *json, const char *text,
                            const struct store_url *url);

/* page_data_put_diff - append the script element with the data of a comparison. Returns
 * false if memory runs out. */
bool page_data_put_diff(struct buffer *html, const struct diff *diff);

#endif
