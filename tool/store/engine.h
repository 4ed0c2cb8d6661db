/* SPDX-License-Identifier: MIT */
/*
 * engine.h - what a kind of database does for store.h, as a table of operations.
 * Only tool/store includes it.
 */
#ifndef STORE_ENGINE_H
#define STORE_ENGINE_H

#include "store/overview.h"

/* Figures of a source's accounting, in the order of the columns of both engines. */
enum { STORE_FIGURES = 9 };

void store_list_figures(const struct profile_source *source,
                        uint64_t figures[STORE_FIGURES]);

/* store - the first member of each engine's own struct. */
struct store {
    const struct store_engine *engine;
};

/* store_engine - each operation as the function of store.h with its name. */
struct store_engine {
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
    /* What store_get_overview reads: the names, then the hits of the slots. */
    bool (*get_names)(struct store *store, const struct store_selection *selection,
                      struct store_overview *overview, struct pprof_error *error);
    bool (*get_line)(struct store *store, const struct store_selection *selection,
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
};

/* NULL: this ntprof was built without the library that it needs. */
extern const struct store_engine *const store_sqlite;
extern const struct store_engine *const store_clickhouse;

/* More than a selection's rows_max. */
#define STORE_TOO_MANY_ROWS                                                         \
    "more rows are selected than are shown at a time: select less time, a host, a " \
    "unit, a source, an image or a build"

/* store_is_build - whether an address of the image is the same code in each run. */
bool store_is_build(const struct profile_image *image);

/*
 * store_image_key - the key of an image in a store: build-id and name, or else the
 * path.
 */
void store_image_key(const struct profile_image *image, const char **build_id,
                     const char **name);

#endif
