/* SPDX-License-Identifier: MIT */
/*
 * store.h - profiles of many runs in one database, which reading commands take in the
 * place of a file.
 *
 * A store is named by a URL: sqlite:PATH, for reading with a selection behind it, as in
 * sqlite:PATH?since=1h&host=web*. docs/store.md describes its tables.
 *
 * A window is what one recording counted: its statistics and its rows. It is identified
 * by its epoch and its start, and each of its figures only grows. Adding a window again
 * keeps the larger of both figures, so repetitions, earlier states and concurrent
 * writers of the same window change nothing.
 *
 * Threads: a store belongs to the thread that uses it. Other processes may read and
 * write the same store meanwhile.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "profile/pprof.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

/* store_selection - which windows and rows of a store are read. All zero: all. Globs
 * and names are borrowed. */
struct store_selection {
    int64_t since_ns;     /* only windows that end after this time in UTC; 0: all */
    int64_t until_ns;     /* only windows that start before it; 0: all */
    const char *host;     /* glob of the host's name; NULL: all hosts */
    const char *source;   /* name; NULL: all sources */
    const char *image;    /* glob of the path; NULL: all images */
    const char *build_id; /* prefix of the build-id; NULL: all builds */
};

/* store_url - a URL taken apart. */
struct store_url {
    char *path;
    char *parameters; /* what the selection borrows */
    struct store_selection selection;
};

/* store_window - where a profile was recorded. */
struct store_window {
    const char *host;
    const char *epoch; /* identifies the start of a recorder; any text */
};

/* store_statistics - what a store contains. */
struct store_statistics {
    uint64_t bytes;
    uint64_t hosts;
    uint64_t windows;
    uint64_t rows;
    uint64_t places;
    int64_t first_ns; /* start of the first window in UTC */
    int64_t last_ns;  /* end of the last one */
};

/* store_is_url - return whether a word names a store rather than a file. */
bool store_is_url(const char *word);

/* store_parse_time - parse 90s, 5m, 1h or 7d as that long before now_ns, or a date of
 * local time: 2026-11-23, 2026-11-23T10:30. Returns false if it is neither. */
bool store_parse_time(const char *text, int64_t now_ns, int64_t *time_ns);

/* For messages about such a text. */
#define STORE_NO_TIME                                                                 \
    "is no time; write how long ago, as 90s, 5m, 1h or 7d, or a date, as 2026-11-23 " \
    "or 2026-11-23T10:30"

/*
 * store_url_parse - take a URL apart.
 *
 *   now_ns  in: time in UTC that durations such as since=1h count back from
 *   url     out: store_url_finish frees it, also after a failure
 *
 * Returns false with the error set if a parameter is unknown or its value is wrong.
 */
bool store_url_parse(const char *text, int64_t now_ns, struct store_url *url,
                     struct pprof_error *error);
void store_url_finish(struct store_url *url);

/* store_create - make an empty store. Returns false with the error set, also if the
 * file exists. */
bool store_create(const char *path, struct pprof_error *error);

/*
 * store_open - open a store.
 *
 *   write  in: it is changed
 *
 * Returns NULL with the error set: no such file, another program's database, a newer
 * version's store, or one with triggers or views, which could run statements of others.
 */
struct store *store_open(const char *path, bool write, struct pprof_error *error);
void store_close(struct store *store); /* may be NULL */

/* store_add - add a profile as one window, in one transaction. Threads and processors
 * of rows are added up. Returns false with the error set, and the store unchanged. */
bool store_add(struct store *store, const struct profile *profile,
               const struct store_window *window, struct pprof_error *error);

/*
 * store_read - add up what the selection contains.
 *
 * Returns a profile, which the caller owns; NULL with the error set if nothing is
 * selected, or if a source has several intervals in it, as such hits do not add up.
 */
struct profile *store_read(struct store *store, const struct store_selection *selection,
                           struct pprof_error *error);

/* store_read_url - parse a URL, open the store, read the selection. Returns as
 * store_read does. */
struct profile *store_read_url(const char *text, struct pprof_error *error);

bool store_get_statistics(struct store *store, struct store_statistics *statistics,
                          struct pprof_error *error);

/* store_check - check the integrity of the file and of its figures. Returns false with
 * the first fault in the error. */
bool store_check(struct store *store, struct pprof_error *error);

/*
 * store_prune - remove windows that ended before a time, and names that no window uses
 * any more, and give their room back to the file system.
 *
 *   windows  out: number of windows removed
 */
bool store_prune(struct store *store, int64_t before_ns, uint64_t *windows,
                 struct pprof_error *error);

#endif
