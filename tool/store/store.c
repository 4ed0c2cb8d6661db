/* SPDX-License-Identifier: MIT */
/* store.c - hands each operation to the store's engine. */
#include "store/engine.h"

#include "base/clock.h"

#include <string.h>

bool
store_create(const struct store_url *url, const char *cluster,
             struct pprof_error *error)
{
    return url->engine->create(url, cluster, error);
}

struct store *
store_open_stoppable(const char *url, bool write, const struct store_stop *stop,
                     struct pprof_error *error)
{
    struct store *store = NULL;
    struct store_url parsed;

    if (store_url_parse(url, (int64_t)clock_ns(CLOCK_REALTIME), &parsed, error)) {
        parsed.access.stop = stop;
        store = parsed.engine->open(&parsed, write, error);
    }
    store_url_finish(&parsed);
    return store;
}

struct store *
store_open(const char *url, bool write, struct pprof_error *error)
{
    return store_open_stoppable(url, write, NULL, error);
}

bool
store_is_remote(const struct store *store)
{
    return store->engine == store_clickhouse;
}

void
store_close(struct store *store)
{
    if (store != NULL) {
        store->engine->close(store);
    }
}

void
store_list_figures(const struct profile_source *source, uint64_t figures[STORE_FIGURES])
{
    const uint64_t list[STORE_FIGURES] = {
        source->expected, source->taken,      source->counted,
        source->outside,  source->lost,       source->throttled,
        source->missed,   source->unfinished, source->excluded,
    };

    memcpy(figures, list, sizeof(list));
}

/* Whether all figures of a window can be added up with those of many others. */
static bool
check_figures(const struct profile *profile)
{
    bool correct = profile->duration_ns <= INT64_MAX &&
                   profile->time_ns <= INT64_MAX - profile->duration_ns;

    for (size_t i = 0; correct && i < profile->source_count; i++) {
        uint64_t figures[STORE_FIGURES];
        uint64_t hits = 0;

        store_list_figures(&profile->sources[i], figures);
        for (size_t k = 0; k < STORE_FIGURES; k++) {
            correct = correct && figures[k] <= STORE_FIGURE_MAX;
        }
        for (size_t k = 0; correct && k < profile->row_count; k++) {
            correct = !__builtin_add_overflow(hits, profile->rows[k].hits[i], &hits) &&
                      hits <= STORE_FIGURE_MAX;
        }
    }
    return correct;
}

bool
store_add(struct store *store, const struct profile *profile,
          const struct store_window *window, struct pprof_error *error)
{
    if (!check_figures(profile)) {
        *error = (struct pprof_error){
            .text = "a window with more than 2^53 hits or events, or an end after the "
                    "year 2262, is not stored",
            .lasting = true};
        return false;
    }
    return store->engine->add(store, profile, window, error);
}

struct profile *
store_read(struct store *store, const struct store_selection *selection,
           struct pprof_error *error)
{
    return store->engine->read(store, selection, error);
}

/* Of each member the one of also, if it has one. */
static void
join_selections(struct store_selection *selection, const struct store_selection *also)
{
    const char **const texts[] = {&selection->host, &selection->source,
                                  &selection->unit, &selection->image,
                                  &selection->build_id};
    const char *const others[] = {also->host, also->source, also->unit, also->image,
                                  also->build_id};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        *texts[i] = others[i] != NULL ? others[i] : *texts[i];
    }
    selection->since_ns = also->since_ns != 0 ? also->since_ns : selection->since_ns;
    selection->until_ns = also->until_ns != 0 ? also->until_ns : selection->until_ns;
    selection->interval = also->interval != 0 ? also->interval : selection->interval;
    selection->rows_max = also->rows_max != 0 ? also->rows_max : selection->rows_max;
    if (also->label_count != 0) {
        memcpy(selection->labels, also->labels, sizeof(selection->labels));
        selection->label_count = also->label_count;
    }
}

struct profile *
store_read_url(const char *text, const struct store_selection *also,
               struct pprof_error *error)
{
    struct profile *profile = NULL;
    struct store *store = NULL;
    struct store_url url;

    if (store_url_parse(text, (int64_t)clock_ns(CLOCK_REALTIME), &url, error)) {
        store = url.engine->open(&url, false, error);
    }
    if (store != NULL) {
        if (also != NULL) {
            join_selections(&url.selection, also);
        }
        profile = store_read(store, &url.selection, error);
    }
    store_close(store);
    store_url_finish(&url);
    return profile;
}

bool
store_get_statistics(struct store *store, struct store_statistics *statistics,
                     struct pprof_error *error)
{
    return store->engine->get_statistics(store, statistics, error);
}

bool
store_check(struct store *store, struct pprof_error *error)
{
    return store->engine->check(store, error);
}

bool
store_prune(struct store *store, const struct store_limits *limits, uint64_t *windows,
            struct pprof_error *error)
{
    *windows = 0;
    return store->engine->prune(store, limits, windows, error);
}

bool
store_fold(struct store *store, uint64_t *days, struct pprof_error *error)
{
    *days = 0;
    return store->engine->fold == NULL || store->engine->fold(store, days, error);
}

struct profile *
store_places(struct store *store, struct pprof_error *error)
{
    return store->engine->places(store, error);
}

bool
store_rename(struct store *store, const struct profile *places,
             struct pprof_error *error)
{
    return store->engine->rename(store, places, error);
}

/* ---- keys that are the same in each engine ---- */

bool
store_is_build(const struct profile_image *image)
{
    return image->build_id[0] != '\0' && image->path[0] != '\0' &&
           image->path[0] != '[';
}

void
store_image_key(const struct profile_image *image, const char **build_id,
                const char **name)
{
    const char *const slash = strrchr(image->path, '/');
    const char *const base = slash != NULL ? slash + 1 : image->path;
    const bool build = store_is_build(image);

    *build_id = build ? image->build_id : "";
    *name = build ? base : image->path;
}
