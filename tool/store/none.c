/* SPDX-License-Identifier: MIT */
/* none.c - a build without SQLite: there are no stores, and each use says so. */
#include "store/store.h"

#include <stdio.h>

static bool
fail(struct pprof_error *error)
{
    snprintf(error->text, sizeof(error->text),
             "this ntprof was built without SQLite, so it has no stores");
    return false;
}

bool
store_create(const char *path, struct pprof_error *error)
{
    (void)path;
    return fail(error);
}

struct store *
store_open(const char *path, bool write, struct pprof_error *error)
{
    (void)path;
    (void)write;
    fail(error);
    return NULL;
}

void
store_close(struct store *store)
{
    (void)store;
}

bool
store_add(struct store *store, const struct profile *profile,
          const struct store_window *window, struct pprof_error *error)
{
    (void)store;
    (void)profile;
    (void)window;
    return fail(error);
}

struct profile *
store_read(struct store *store, const struct store_selection *selection,
           struct pprof_error *error)
{
    (void)store;
    (void)selection;
    fail(error);
    return NULL;
}

bool
store_get_statistics(struct store *store, struct store_statistics *statistics,
                     struct pprof_error *error)
{
    (void)store;
    (void)statistics;
    return fail(error);
}

bool
store_check(struct store *store, struct pprof_error *error)
{
    (void)store;
    return fail(error);
}

bool
store_prune(struct store *store, int64_t before_ns, uint64_t *windows,
            struct pprof_error *error)
{
    (void)store;
    (void)before_ns;
    (void)windows;
    return fail(error);
}
