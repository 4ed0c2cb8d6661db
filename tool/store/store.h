/* SPDX-License-Identifier: MIT */
/*
 * store.h - profiles of many runs and machines in one database, which reading commands
 * take in the place of a file.
 *
 * A store is named by a URL, as sqlite:PATH, for reading with a selection behind it, as
 * in sqlite:PATH?since=1h&host=web*. docs/store.md describes the tables of each engine.
 *
 * A window is what one recording counted, or an agent in one of its intervals: its
 * statistics and its rows. It is identified by its host, its epoch and its start. Of
 * two states of a window the one with more hits taken counts, so repetitions, earlier
 * states and concurrent writers of the same window change nothing. docs/store.md says
 * what a server cannot do there.
 *
 * Threads: a store belongs to the thread that uses it. Other processes may read and
 * write the same store meanwhile.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "profile/pprof.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;
struct store_engine;

enum { STORE_LABELS_MAX = 16 };

/* A second, as times of stores have it: they are signed. */
#define STORE_SECOND_NS INT64_C(1000000000)

/* store_selection - which windows and rows of a store are read. All zero: all. Globs
 * and names are borrowed. */
struct store_selection {
    int64_t since_ns; /* only windows that end after this time in UTC; 0: all */
    int64_t until_ns; /* only windows that start before it; 0: all */
    const char *host; /* glob of the host's name; NULL: all hosts */
    const char *labels[STORE_LABELS_MAX]; /* key=value that windows have; all of them */
    size_t label_count;
    const char *source;   /* name; NULL: all sources */
    uint64_t interval;    /* only hits of this interval, in its unit; 0: all */
    const char *unit;     /* glob of the row's unit; NULL: all */
    const char *image;    /* glob of the path; NULL: all images */
    const char *build_id; /* prefix of the build-id; NULL: all builds */
    size_t rows_max;      /* reading more rows fails; 0: any number */
    bool needs_row; /* store_read_url fails if no row has unit, image and build-id */
};

/* store_stop - how a caller ends a call that takes long: asked returns whether to give
 * up. It is called at least once a second while a server is waited for, and every so
 * many steps of a statement in a file. */
struct store_stop {
    bool (*asked)(void *context);
    void *context;
};

/* store_access - how a server is reached. */
struct store_access {
    const struct store_stop *stop; /* NULL: never */
    const char *password_file;     /* NULL: no password */
    const char *ca_file; /* certificates that are believed; NULL: the system's */
    uint64_t timeout_ns; /* of one request; 0: the default */
};

/* store_url - a URL taken apart. */
struct store_url {
    const struct store_engine *engine;
    char *location;   /* what stands before the '?', without the scheme */
    char *parameters; /* what the selection borrows */
    bool tls;         /* the scheme asks for it */
    bool selects;     /* the URL has parameters that select */
    struct store_selection selection;
    struct store_access access;
};

/* store_window - where a profile was recorded. Its time is the profile's. */
struct store_window {
    const char *host;
    /* identifies the start of a recorder; any text. "file " and something stands for a
     * single recording; windows of all others follow each other, so that holes between
     * them are reported. */
    const char *epoch;
    const char *boot;          /* id of the machine's boot; NULL: unknown */
    const char *const *labels; /* words key=value */
    size_t label_count;
};

#define STORE_EPOCH_FILE "file "

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

/* store_limits - what store_prune leaves. */
struct store_limits {
    int64_t before_ns;  /* windows that ended before it go; 0: none by age */
    uint64_t bytes_max; /* the oldest go until the store is as small; 0: any size */
};

/* store_is_url - return whether a word names a store rather than a file. */
bool store_is_url(const char *word);

/* store_parse_time - parse 90s, 5m, 1h or 7d as that long before now_ns, or a date of
 * local time: 2026-11-23, 2026-11-23T10:30, or of UTC: 2026-11-23T10:30Z. Returns false
 * if it is neither. */
bool store_parse_time(const char *text, int64_t now_ns, int64_t *time_ns);

/* For messages about a text that store_parse_time refuses. */
#define STORE_NO_TIME                                                           \
    "is no time; write how long ago, as 90s, 5m, 1h or 7d, or a date of local " \
    "time, as 2026-11-23 or 2026-11-23T10:30, or of UTC, as 2026-11-23T10:30Z"

/* For messages about a word that is no URL. */
#define STORE_URL_FORMS "a store is named as sqlite:PATH or clickhouse://HOST/DATABASE"

/*
 * store_url_parse - take a URL apart.
 *
 *   now_ns  in: time in UTC that durations such as since=1h count back from
 *   url     out: store_url_finish frees it, also after a failure
 *
 * Returns false with the error set if a parameter is unknown or its value is wrong, if
 * a server's location is malformed, for example has a password, or if the module for
 * such a store cannot be loaded.
 */
bool store_url_parse(const char *text, int64_t now_ns, struct store_url *url,
                     struct pprof_error *error);
void store_url_finish(struct store_url *url);

/*
 * store_select - set one member of a selection, as in a URL.
 *
 *   name, value  in: as host and web*; value is borrowed
 *
 * Returns false with the error set if there is no such member or the value is wrong.
 */
bool store_select(struct store_selection *selection, const char *name,
                  const char *value, int64_t now_ns, struct pprof_error *error);

/*
 * store_create - make an empty store. Returns false with the error set, also if it
 * exists.
 *
 *   cluster  in: servers that share the store, as the one of the URL names them; NULL:
 *            one server, or a file
 */
bool store_create(const struct store_url *url, const char *cluster,
                  struct pprof_error *error);

/*
 * store_upgrade - convert a store that an older version made. It changes nothing if
 * that was done. Returns false with the error set.
 */
bool store_upgrade(const struct store_url *url, struct pprof_error *error);

/*
 * store_open - open a store.
 *
 *   url    in: as text; what it selects is ignored
 *   write  in: whether the store will be changed
 *
 * Returns NULL with the error set: no such store, another program's tables, those of
 * another version, or ones that could run statements of others. Files of the version
 * before are read as they are, and written after store_upgrade.
 */
struct store *store_open(const char *url, bool write, struct pprof_error *error);

/* store_open_stoppable - open a store as store_open does. Waits of this call and of all
 * later ones end when stop says so; it must outlive the store. */
struct store *store_open_stoppable(const char *url, bool write,
                                   const struct store_stop *stop,
                                   struct pprof_error *error);
void store_close(struct store *store); /* may be NULL */

/* store_is_remote - return whether the store is on a server, so that opening it takes a
 * while and callers keep it open. */
bool store_is_remote(const struct store *store);

/* Most hits or events of a source in a window: the sum of a thousand windows fits in 63
 * bits. */
#define STORE_FIGURE_MAX (UINT64_C(1) << 53)

/* store_add - add a profile as one window, whole or not at all. Threads and processors
 * of rows are added up. Returns false with the error set; adding it again is then
 * right, whether or not something of it arrived, unless the error is lasting: this
 * store will never take this profile. */
bool store_add(struct store *store, const struct profile *profile,
               const struct store_window *window, struct pprof_error *error);

/* store_check_times - check that a selection's time does not end before it begins.
 * Returns false with the error set. */
bool store_check_times(const struct store_selection *selection,
                       struct pprof_error *error);

/*
 * store_read - add up what the selection contains.
 *
 * Returns a profile, which the caller owns; NULL with the error set if no window is
 * selected (no_window in it), or if the profile would have more rows than rows_max. A
 * source with several intervals is as many sources (profile/join.h).
 * The profile's command says what the selection holds, its gaps which windows are
 * missing.
 */
struct profile *store_read(struct store *store, const struct store_selection *selection,
                           struct pprof_error *error);

/* store_read_url - parse a URL, open the store, read the selection. What also selects
 * wins over the URL; it may be NULL. Returns as store_read does, and NULL with the
 * error set if no row is of the unit, image and build-id that are selected and the
 * selection needs one. */
struct profile *store_read_url(const char *text, const struct store_selection *also,
                               struct pprof_error *error);

/* store_get_statistics - read what a store contains. Returns false with the error
 * set. */
bool store_get_statistics(struct store *store, struct store_statistics *statistics,
                          struct pprof_error *error);

/* store_check - check the integrity of the store and of its figures. Returns false with
 * the first fault in the error. */
bool store_check(struct store *store, struct pprof_error *error);

/*
 * store_prune - remove the oldest windows, and names that no window uses any more, and
 * give their room back to the file system. Returns false with the error set.
 *
 *   windows  out: number of windows removed
 */
bool store_prune(struct store *store, const struct store_limits *limits,
                 uint64_t *windows, struct pprof_error *error);

/* store_fold - bring the sums that the store keeps of past days up to date, where it
 * keeps some. *days is the number of days that were summed up anew. Returns false with
 * the error set. */
bool store_fold(struct store *store, uint64_t *days, struct pprof_error *error);

/* store_places - return each place of a known build once, as a profile with one row for
 * each, all with one hit of a source named places, so that its names can be improved.
 * Returns NULL with the error set. The caller owns the profile. */
struct profile *store_places(struct store *store, struct pprof_error *error);

/* store_rename - write the names of a profile from store_places into the store where
 * they are better than those that it has: a name where there was none, or a line.
 * Returns false with the error set. */
bool store_rename(struct store *store, const struct profile *places,
                  struct pprof_error *error);

#endif
