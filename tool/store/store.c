/* SPDX-License-Identifier: MIT */
/* store.c - hands each operation to the store's engine. */
#include "store/engine.h"

#include "base/clock.h"
#include "base/path.h"
#include "base/text.h"
#include "profile/image_join.h"
#include "profile/uses.h"

#include <stdio.h>
#include <string.h>

bool
store_create(const struct store_url *url, const char *cluster,
             struct pprof_error *error)
{
    return url->engine->create(url, cluster, error);
}

bool
store_upgrade(const struct store_url *url, struct pprof_error *error)
{
    return url->engine->upgrade(url, error);
}

/* Open the store of a URL that was parsed. Returns NULL with the error set. */
static struct store *
open_parsed(const struct store_url *url, bool write, struct pprof_error *error)
{
    struct store *const store = url->engine->open(url, write, error);

    if (store != NULL) {
        store->engine = url->engine;
    }
    return store;
}

struct store *
store_open_stoppable(const char *url, bool write, const struct store_stop *stop,
                     struct pprof_error *error)
{
    struct store *store = NULL;
    struct store_url parsed;

    if (store_url_parse(url, (int64_t)clock_ns(CLOCK_REALTIME), &parsed, error)) {
        parsed.access.stop = stop;
        store = open_parsed(&parsed, write, error);
    }
    store_url_finish(&parsed);
    return store;
}

struct store *
store_open(const char *url, bool write, struct pprof_error *error)
{
    return store_open_stoppable(url, write, /* stop */ NULL, error);
}

bool
store_is_remote(const struct store *store)
{
    return store->engine->remote;
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
        source->expected, source->taken,          source->counted, source->outside,
        source->lost,     source->throttled,      source->missed,  source->unfinished,
        source->excluded, source->outside_kernel,
    };

    memcpy(figures, list, sizeof(list));
}

bool
store_set_figures(struct profile_source *source, const uint64_t figures[STORE_FIGURES])
{
    uint64_t *const members[STORE_FIGURES] = {
        &source->expected,       &source->taken,      &source->counted,
        &source->outside,        &source->lost,       &source->throttled,
        &source->missed,         &source->unfinished, &source->excluded,
        &source->outside_kernel,
    };

    for (size_t i = 0; i < STORE_FIGURES; i++) {
        *members[i] = figures[i];
    }
    return source->outside <= source->taken &&
           source->outside_kernel <= source->outside;
}

/* Return whether the profile's times and figures are small enough to be added up with
 * those of many other windows. */
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
    if (profile->bucket_least != 0) {
        *error = (struct pprof_error){
            .text =
                "a sum of profiles with buckets of several sizes is not stored: add "
                "the profiles that it is the sum of",
            .lasting = true};
        return false;
    }
    return store->engine->add(store, profile, window, error);
}

bool
store_check_times(const struct store_selection *selection, struct pprof_error *error)
{
    if (selection->since_ns == 0 || selection->until_ns == 0 ||
        selection->since_ns < selection->until_ns) {
        return true;
    }
    snprintf(
        error->text, sizeof(error->text),
        "the selected time ends before it begins: since must be earlier than until");
    return false;
}

struct profile *
store_read(struct store *store, const struct store_selection *selection,
           struct pprof_error *error)
{
    struct profile *profile = NULL;

    error->no_window = false;
    if (store_check_times(selection, error)) {
        profile = store->engine->read(store, selection, error);
    }
    if (profile != NULL) {
        profile->of_store = true;
        profile->rows_selected = selection->unit != NULL || selection->image != NULL ||
                                 selection->build_id != NULL;
    }
    return profile;
}

/* Replace each member of a selection that is also set in also. */
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
    selection->needs_row = also->needs_row;
    if (also->label_count != 0) {
        memcpy(selection->labels, also->labels, sizeof(selection->labels));
        selection->label_count = also->label_count;
    }
}

/* Set the error to the selection that no row passes. */
static void
fail_no_row(const struct store_selection *selection, struct pprof_error *error)
{
    const char *const chosen[][2] = {{"unit", selection->unit},
                                     {"image", selection->image},
                                     {"build-id", selection->build_id}};
    const char *before = "nothing selected has";
    size_t used = 0;

    for (size_t i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++) {
        char shown[80];

        if (chosen[i][1] != NULL) {
            used += (size_t)snprintf(error->text + used, sizeof(error->text) - used,
                                     "%s %s %s", before, chosen[i][0],
                                     text_show(shown, sizeof(shown), chosen[i][1]));
            before = " and";
        }
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
        store = open_parsed(&url, false, error);
    }
    if (store != NULL) {
        if (also != NULL) {
            join_selections(&url.selection, also);
        }
        profile = store_read(store, &url.selection, error);
    }
    if (profile != NULL && url.selection.needs_row && profile->rows_selected &&
        profile->row_count == 0) {
        fail_no_row(&url.selection, error);
        profile_delete(profile);
        profile = NULL;
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
    return store->engine->fold(store, days, error);
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

struct profile_source *
store_find_source(const struct profile *profile, const char *name, uint64_t interval)
{
    for (size_t i = 0; i < profile->source_count; i++) {
        if (profile->sources[i].granted == interval &&
            strcmp(profile->sources[i].name, name) == 0) {
            return &profile->sources[i];
        }
    }
    return NULL;
}

unsigned
store_function_kind(const struct profile *profile, const struct profile_row *row)
{
    return image_join_is_build(&profile->images[row->image]) ? FUNCTION_WITH_ADDRESS
                                                             : FUNCTION_WITHOUT_ADDRESS;
}

uint8_t
store_quality(const struct profile *profile, const struct profile_row *row)
{
    const struct profile_function *const outer =
        &profile->functions[profile_outer_function(profile, row)];

    if (profile->functions[row->function].name[0] == '\0') {
        return 0;
    }
    return (uint8_t)((row->line == 0 ? 1 : 2) +
                     (outer->has_address &&
                              store_function_kind(profile, row) == FUNCTION_WITH_ADDRESS
                          ? 2
                          : 0));
}

void
store_image_key(const struct profile_image *image, const char **build_id,
                const char **name)
{
    const bool build = image_join_is_build(image);

    *build_id = build ? image->build_id : "";
    *name = build ? path_file_name(image->path) : image->path;
}
