/* SPDX-License-Identifier: MIT */
/* store.c - reads the selection of a store for each look. */
#include "top/store.h"
#include "base/message.h"
#include "profile/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
top_store_finish(struct top_store *store)
{
    for (size_t i = 0; i < RECORD_SOURCES_MAX; i++) {
        free(store->source_names[i]);
    }
    profile_delete(store->first);
    names_close(&store->names);
}

/* Keep the names of the profile's sources, which the screen shows. Returns false
 * with the error set. */
static bool
keep_sources(struct top_store *store, const struct profile *profile,
             struct pprof_error *error)
{
    struct record_options *const options = &store->options;

    if (profile->source_count > RECORD_SOURCES_MAX) {
        snprintf(error->text, sizeof(error->text),
                 "it has %zu sources, more than %d; choose one by source= in the URL",
                 profile->source_count, RECORD_SOURCES_MAX);
        return false;
    }
    for (size_t i = 0; i < profile->source_count; i++) {
        store->source_names[i] = strdup(profile->sources[i].name);
        if (store->source_names[i] == NULL) {
            snprintf(error->text, sizeof(error->text), "out of memory");
            return false;
        }
        options->sources[i] = store->source_names[i];
        options->source_count = i + 1;
    }
    return true;
}

/* Return whether a profile has the same sources in the same order as the first one. */
static bool
has_kept_sources(const struct top_store *store, const struct profile *profile)
{
    if (profile->source_count != store->options.source_count) {
        return false;
    }
    for (size_t i = 0; i < profile->source_count; i++) {
        if (strcmp(profile->sources[i].name, store->source_names[i]) != 0) {
            return false;
        }
    }
    return true;
}

/* Read the selection, whose times count back from now. Returns NULL
 * with the error set. */
static struct profile *
read_selection(struct top_store *store, struct pprof_error *error)
{
    struct profile *profile;

    store->input = (struct input_options){0};
    for (size_t i = 0; i < store->selected_count; i++) {
        /* The value was right when it was taken, and no later time makes it wrong. */
        (void)input_select(&store->input, "top", store->selected[i].name,
                           store->selected[i].value);
    }
    profile = input_read(store->url, &store->input, error);
    if (profile != NULL) {
        profile_join_buckets(profile);
    }
    return profile;
}

bool
top_store_begin(struct top_store *store)
{
    struct pprof_error error;

    if (!names_open(&store->names, "top", &store->options.names, /* quiet */ true)) {
        return false;
    }
    store->first = read_selection(store, &error);
    if (store->first == NULL || !keep_sources(store, store->first, &error)) {
        cmd_fail("top", "%s", error.text);
        return false;
    }
    return true;
}

struct profile *
top_store_read(struct top_store *store, struct pprof_error *error)
{
    struct profile *const profile =
        store->first != NULL ? store->first : read_selection(store, error);

    store->first = NULL;
    if (profile != NULL && !has_kept_sources(store, profile)) {
        snprintf(error->text, sizeof(error->text),
                 "the store has other sources now; quit, and start again");
        profile_delete(profile);
        return NULL;
    }
    return profile;
}

bool
top_store_write(struct top_store *store, const struct profile *profile,
                struct pprof_error *error)
{
    return pprof_rewrite(profile, store->options.output, &store->written, error);
}
