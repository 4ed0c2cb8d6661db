/* SPDX-License-Identifier: MIT */
/*
 * engine.h - what a kind of database does for store.h, as a table of operations.
 * Only tool/store includes it.
 */
#ifndef STORE_ENGINE_H
#define STORE_ENGINE_H

#include "base/module.h"
#include "store/overview.h"

/* Figures of a source's accounting, in the order of the columns of both engines. */
enum { STORE_FIGURES = 10 };

/* store_list_figures - get the figures of a source in that order. */
void store_list_figures(const struct profile_source *source,
                        uint64_t figures[STORE_FIGURES]);

/* store_set_figures - set the figures that were read from a store. Returns false if
 * they contradict each other: anybody may have written the store. */
bool store_set_figures(struct profile_source *source,
                       const uint64_t figures[STORE_FIGURES]);

#define STORE_CONTRADICTION \
    "has more hits outside than taken, or more of them in kernel mode than outside"

/* store - the first member of each engine's own struct; store.c sets it. */
struct store {
    const struct store_engine *engine;
};

/* store_engine - an engine's operations, which are what its module consists of. Each
 * does what the function of store.h or overview.h with its name promises. */
struct store_engine {
    bool remote; /* its stores are on servers, not in files */
    /* Check the location of a URL, without using it. NULL: any is right. Returns false
     * with the error set. */
    bool (*check_location)(const struct store_url *url, struct pprof_error *error);
    bool (*create)(const struct store_url *url, const char *cluster,
                   struct pprof_error *error);
    struct store *(*open)(const struct store_url *url, bool write,
                          struct pprof_error *error);
    void (*close)(struct store *store);
    bool (*add)(struct store *store, const struct profile *profile,
                const struct store_window *window, struct pprof_error *error);
    struct profile *(*read)(struct store *store,
                            const struct store_selection *selection,
                            struct pprof_error *error);
    bool (*get_extent)(struct store *store, int64_t *first_ns, int64_t *last_ns,
                       struct pprof_error *error);
    /* The two parts of store_get_overview: the names to select, and then, with source
     * and slots set, the timeline. */
    bool (*get_names)(struct store *store, const struct store_selection *selection,
                      struct store_overview *overview, struct pprof_error *error);
    bool (*get_timeline)(struct store *store, const struct store_selection *selection,
                         struct store_overview *overview, struct pprof_error *error);
    bool (*get_statistics)(struct store *store, struct store_statistics *statistics,
                           struct pprof_error *error);
    bool (*check)(struct store *store, struct pprof_error *error);
    bool (*prune)(struct store *store, const struct store_limits *limits,
                  uint64_t *windows, struct pprof_error *error);
    bool (*fold)(struct store *store, uint64_t *days, struct pprof_error *error);
    struct profile *(*places)(struct store *store, struct pprof_error *error);
    bool (*rename)(struct store *store, const struct profile *places,
                   struct pprof_error *error);
    bool (*upgrade)(const struct store_url *url, struct pprof_error *error);
};

/* The error for a store that must be converted before it can be used. */
#define STORE_TO_UPGRADE(scheme, what)                                               \
    "is a store of an older version of ntprof" what "; to convert it, once: ntprof " \
    "store upgrade " scheme

/* The error if no window is selected; pprof_error.no_window is set, too. */
#define STORE_NO_WINDOW "no window is selected; ntprof store stat shows what there is"

/* The error if there are more rows than store_selection.rows_max. */
#define STORE_TOO_MANY_ROWS                                                         \
    "more rows are selected than are shown at a time: select less time, a host, a " \
    "unit, a source, an image or a build"

/* store_find_source - return the profile's source with this name and interval; NULL if
 * there is none. */
struct profile_source *store_find_source(const struct profile *profile,
                                         const char *name, uint64_t interval);

/* store_function_kind - return in which kind (profile/uses.h) the store keeps the
 * functions of a row: with their addresses if the row's image has a build-id that is
 * known, as only then an address means the same in each window. */
unsigned store_function_kind(const struct profile *profile,
                             const struct profile_row *row);

/*
 * store_quality - return how much a row says of its place: 0 if it has no name, 1 for a
 * name, 2 for a name and a line; 2 more if the function's address is known as well.
 * Windows of different agents may have the same place; the store keeps the names of the
 * best quality.
 */
uint8_t store_quality(const struct profile *profile, const struct profile_row *row);

/*
 * store_image_key - get what identifies an image in a store: its build-id and the last
 * part of its path; without a build-id that is known, an empty text and the whole path.
 */
void store_image_key(const struct profile_image *image, const char **build_id,
                     const char **name);

#endif
