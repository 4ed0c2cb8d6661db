/* SPDX-License-Identifier: MIT */
/*
 * serve.h - a store as the page of export --format html with a selection on top, for
 * browsers.
 *
 * Each page is made completely by the server: it holds what its address selects, and
 * the names of hosts, units, builds, labels, sources and images and the intervals to
 * choose from. Nothing else of the store leaves it. The store is only read.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "http/http.h"
#include "store/store.h"
#include "view/export/export.h"

enum {
    SERVE_QUEUE_MAX = 8,     /* pages that wait; more are refused */
    SERVE_ROWS_MAX = 500000, /* of a page; more are too many for a browser */
    SERVE_CHANGES_MAX = 200, /* rows of a comparison */
};

/* serve_settings - what is served. */
struct serve_settings {
    const char *url; /* the store's URL; what it selects is the default of each page */
    struct sockaddr_storage address;
    /* listings, image_dir, prefixes; what files contain is shown to all clients */
    struct export_options html;
};

/* serve_query - arguments of an address, decoded; borrowed. */
struct serve_query {
    const char *names[HTTP_ARGUMENTS_MAX];
    const char *values[HTTP_ARGUMENTS_MAX];
    size_t count;
};

/*
 * serve_read_selection - add arguments to a selection. Empty ones select nothing.
 *
 *   prefix  in: "" or "old.", which the names begin with
 *
 * Returns false with the error set if one of them is unknown or wrong.
 */
bool serve_read_selection(const struct serve_query *query, const char *prefix,
                          int64_t now_ns, struct store_selection *selection,
                          struct pprof_error *error);

/* serve_compares - return whether the arguments select an old side. */
bool serve_compares(const struct serve_query *query);

/*
 * serve_make_page - make the page that arguments ask for. What cannot be shown is said
 * in the page.
 *
 *   stop    in: as in store_open_stoppable
 */
void serve_make_page(const struct serve_settings *settings,
                     const struct serve_query *query, const struct store_stop *stop,
                     struct http_answer *answer);

/*
 * serve_start - listen. Call sandbox_prepare before: it starts a thread.
 *
 * Returns NULL with the reason in why, of at most size bytes.
 */
struct http_server *serve_start(const struct serve_settings *settings, char *why,
                                size_t size);

/* serve_run - serve pages until signal_fd, of record/ending.h, is readable; then stop
 * the server. */
void serve_run(const struct serve_settings *settings, struct http_server *server,
               int signal_fd);

#endif
