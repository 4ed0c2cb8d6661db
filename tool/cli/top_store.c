/* SPDX-License-Identifier: MIT */
/* top_store.c - the options of top for a store. */
#include "cli/top_store.h"
#include "base/clock.h"
#include "base/options_place.h"
#include "cli/cmd.h"
#include "record/default_output.h"
#include "record/record_rows.h"

#include <assert.h>
#include <string.h>

/* Time between two looks. An agent adds a window a minute, so they need not be many. */
static const uint64_t delay_default_ns = 10000000000;
static const struct options_times delays = {
    1000000000, UINT64_C(86400) * 1000000000,
    "not a time of 1s to a day; such as 10s, 1m or 30"};
/* What is shown if neither the options nor the URL say since when. */
static const char since_default[] = "10m";

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

/* Check a value that selects, and keep its text: each look reads it again, as ages such
 * as 10m move on. Returns false after an error line. */
static bool
select_in_store(struct top_store *store, const char *name, const char *value)
{
    if (!input_select(&store->input, "top", name, value)) {
        return false;
    }
    if (store->selected_count == TOP_STORE_SELECTED_MAX) {
        cmd_fail("top", "at most %d options can select", TOP_STORE_SELECTED_MAX);
        return false;
    }
    store->selected[store->selected_count].name = name;
    store->selected[store->selected_count].value = value;
    store->selected_count++;
    return true;
}

static bool
take_selected(void *into, const struct options_given *given)
{
    return select_in_store(into, given->row->name, given->value);
}

static bool
take_delay(void *into, const struct options_given *given)
{
    return options_time(given, &delays, into);
}

/* Options that top has for recordings and for stores, with how they are taken for
 * stores. */
static const struct {
    const char *name;
    options_take_one *take;
    size_t offset;
} shared[] = {
    {"delay", OPTIONS_INTO(take_delay, struct top_store, options.delay_ns)},
    {"duration",
     OPTIONS_INTO(record_take_duration, struct top_store, options.duration_ns)},
    {"output", OPTIONS_TEXT(struct top_store, options.output)},
    {"no-lines", OPTIONS_FLAG(struct top_store, options.names.no_lines)},
    {"no-cache", OPTIONS_FLAG(struct top_store, options.names.no_cache)},
};

enum { SHARED = sizeof(shared) / sizeof(shared[0]) };

/* Make the tables of options for a store from those of cmd_top_options: selecting are
 * those that select, own are the shared ones. */
static void
make_rows(struct options_row selecting[INPUT_ROWS], struct options_row own[SHARED + 1])
{
    for (size_t i = 0; i < INPUT_ROWS; i++) {
        selecting[i] = input_rows[i];
        selecting[i].take = take_selected;
        selecting[i].offset = 0;
    }
    for (size_t i = 0; i < SHARED; i++) {
        const struct options_row *const row =
            options_find(&cmd_top_options, shared[i].name, strlen(shared[i].name));

        assert(row != NULL);
        own[i] = *row;
        own[i].take = shared[i].take;
        own[i].offset = shared[i].offset;
    }
}

/* Check the URL, and select the last minutes unless the URL or an option says since
 * when. Returns false after an error line. */
static bool
take_url(struct top_store *store)
{
    const int64_t now_ns = (int64_t)clock_ns(CLOCK_REALTIME);
    struct pprof_error error;
    struct store_url url;
    bool since = false;
    bool done;

    for (size_t i = 0; i < store->selected_count; i++) {
        since = since || strcmp(store->selected[i].name, "since") == 0;
    }
    done = store_url_parse(store->url, now_ns, &url, &error);
    if (!done) {
        cmd_fail("top", "%s", error.text);
    } else if (!since && url.selection.since_ns == 0) {
        done = select_in_store(store, "since", since_default);
    }
    store_url_finish(&url);
    return done;
}

bool
top_store_take(struct top_store *store, int argc, char **argv, int *exit_status)
{
    struct options_row selecting[INPUT_ROWS];
    struct options_row own[SHARED + 1] = {{0}};
    const struct options_syntax syntax = {
        .command = "top",
        .groups = {{selecting, 0}, {own, 0}},
        .words_max = 1,
        .words_too_many = "only one store can be shown",
        .shown = &cmd_top_options,
    };
    struct options_words words;

    *store = (struct top_store){
        .options = {.delay_ns = delay_default_ns, .output = CMD_FILE_DEFAULT}};
    make_rows(selecting, own);
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
