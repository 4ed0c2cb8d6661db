/* SPDX-License-Identifier: MIT */
/* top_store.c - see top_store.h. */
#include "top/store.h"
#include "base/clock.h"
#include "cli/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_DURATION = OPTION_OWN, OPTION_NO_LINES };

/* An agent adds a window a minute. */
static const uint64_t delay_default_ns = 10000000000;
static const struct options_times delays = {
    1000000000, UINT64_C(86400) * 1000000000,
    "not a time of 1s to a day; such as 10s, 1m or 30"};
static const struct options_times durations = {
    1, UINT64_MAX, "not a time above 0; such as 30s, 5m or 10"};

/* What is shown if neither the options nor the URL say since when. */
static const char since_default[] = "10m";

static const struct option LONG_OPTIONS[] = {
    INPUT_OPTION_ROWS,
    {"delay", required_argument, NULL, 'd'},
    {"duration", required_argument, NULL, OPTION_DURATION},
    {"output", required_argument, NULL, 'o'},
    {"no-lines", no_argument, NULL, OPTION_NO_LINES},
    OPTION_HELP_ROW,
    {0},
};

bool
top_store_is_named(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (store_is_url(argv[i])) {
            return true;
        }
    }
    return false;
}

/* Check the value now and keep it for each look. */
static bool
select_in_store(struct top_store *store, int option, const char *value)
{
    if (!input_set(&store->input, "top", option, value)) {
        return false;
    }
    if (store->selected_count == TOP_STORE_SELECTED_MAX) {
        cmd_fail("top", "at most %d options can select", TOP_STORE_SELECTED_MAX);
        return false;
    }
    store->selected[store->selected_count].option = option;
    store->selected[store->selected_count].value = value;
    store->selected_count++;
    return true;
}

static bool
set_option(void *context, int option, char *value)
{
    struct top_store *const store = context;

    switch (option) {
    case 'd':
        return options_time("top", "-d", value, &delays, &store->options.delay_ns);
    case OPTION_DURATION:
        return options_time("top", "--duration", value, &durations,
                            &store->options.duration_ns);
    case 'o':
        store->options.output = value;
        return true;
    case OPTION_NO_LINES:
        store->options.names.no_lines = true;
        return true;
    default:
        return select_in_store(store, option, value);
    }
}

/* Check the URL too, and show the last minutes unless something else is selected. */
static bool
take_url(struct top_store *store)
{
    const int64_t now_ns = (int64_t)clock_ns(CLOCK_REALTIME);
    struct pprof_error error;
    struct store_url url;
    bool since = false;
    bool done;

    for (size_t i = 0; i < store->selected_count; i++) {
        since = since || store->selected[i].option == INPUT_SINCE;
    }
    done = store_url_parse(store->url, now_ns, &url, &error);
    if (!done) {
        cmd_fail("top", "%s", error.text);
    } else if (!since && url.selection.since_ns == 0) {
        done = select_in_store(store, INPUT_SINCE, since_default);
    }
    store_url_finish(&url);
    return done;
}

bool
top_store_take(struct top_store *store, int argc, char **argv, int *exit_status)
{
    static const struct options_syntax syntax = {
        .command = "top",
        .known = LONG_OPTIONS,
        .words_max = 1,
        .words_too_many = "only one store can be shown",
        .set = set_option,
    };
    struct options_words words;

    *store = (struct top_store){
        .options = {.delay_ns = delay_default_ns, .output = CMD_FILE_DEFAULT}};
    if (!options_take(&syntax, argc, argv, store, &words, exit_status)) {
        return false;
    }
    *exit_status = CMD_FAILED;
    if (words.count == 0) { /* the URL was an option's value */
        cmd_fail("top", "no store is named; try: ntprof top sqlite:PATH");
        return false;
    }
    store->url = words.list[0];
    return take_url(store);
}

void
top_store_finish(struct top_store *store)
{
    for (size_t i = 0; i < RECORD_SOURCES_MAX; i++) {
        free(store->source_names[i]);
    }
    profile_delete(store->first);
    names_close(&store->names);
}

/* Keep the names of the sources, which the screen shows. */
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

/* Are the sources the same, in the same order? */
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

/* Read the selection, its times counted back from now. */
static struct profile *
read_selection(struct top_store *store, struct pprof_error *error)
{
    store->input = (struct input_options){0};
    for (size_t i = 0; i < store->selected_count; i++) {
        /* It was right when it was read, and no time makes it wrong. */
        (void)input_set(&store->input, "top", store->selected[i].option,
                        store->selected[i].value);
    }
    return input_read(store->url, &store->input, error);
}

bool
top_store_begin(struct top_store *store)
{
    struct pprof_error error;

    if (!names_open(&store->names, "top", &store->options.names, true)) {
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
