/* SPDX-License-Identifier: MIT */
/* store_actions.c - the actions: making, filling, checking and changing stores. */
#include "cli/store_actions.h"
#include "base/message.h"
#include "base/progress.h"
#include "record/collect/symbolize.h"
#include "store/recorded.h"

#include <inttypes.h>
#include <stdio.h>

static bool
init(struct store *store, const struct store_arguments *arguments,
     struct pprof_error *error)
{
    (void)store;
    return store_create(&arguments->parsed, arguments->cluster, error);
}

static bool
upgrade(struct store *store, const struct store_arguments *arguments,
        struct pprof_error *error)
{
    (void)store;
    return store_upgrade(&arguments->parsed, error);
}

/* Sum the rows of a profile with stacks over them, and print that the store will not
 * have them. Returns false with the error set if memory runs out. */
static bool
sum_over_stacks(struct profile *profile, const char *path, struct pprof_error *error)
{
    if (!profile_has_stacks(profile)) {
        return true;
    }
    cmd_refuse("store", path, "its stacks are left out: a store has none");
    if (!profile_remove_stacks(profile)) {
        *error = (struct pprof_error){.text = PPROF_OUT_OF_MEMORY};
        return false;
    }
    return true;
}

/* Add a file as one window. Returns false with the error set, or empty after an error
 * line. */
static bool
add_file(struct store *store, const struct store_arguments *arguments, const char *path,
         struct pprof_error *error)
{
    struct profile *const profile = pprof_read(path, error);
    bool added;

    if (profile == NULL) {
        return false;
    }
    if (!sum_over_stacks(profile, path, error)) {
        profile_delete(profile);
        return false;
    }
    added =
        store_add_file(store, profile,
                       &(struct store_window){.host = arguments->host,
                                              .labels = arguments->labels,
                                              .label_count = arguments->label_count},
                       error);
    profile_delete(profile);
    if (!added) {
        cmd_refuse("store", path, error->text);
        error->text[0] = '\0';
    }
    return added;
}

static bool
add_files(struct store *store, const struct store_arguments *arguments,
          struct pprof_error *error)
{
    bool added = true;

    for (size_t i = 0; i < arguments->file_count && added; i++) {
        progress_report("adding: %zu of %zu files", i, arguments->file_count);
        added = add_file(store, arguments, arguments->files[i], error);
    }
    progress_end();
    return added;
}

static bool
print_stat(struct store *store, const struct store_arguments *arguments,
           struct pprof_error *error)
{
    struct store_statistics statistics;

    if (!store_get_statistics(store, &statistics, error)) {
        return false;
    }
    if (arguments->json) {
        store_print_statistics_json(&statistics);
    } else {
        store_print_statistics(&statistics);
    }
    return true;
}

static bool
check(struct store *store, const struct store_arguments *arguments,
      struct pprof_error *error)
{
    (void)arguments;
    return store_check(store, error);
}

static bool
prune(struct store *store, const struct store_arguments *arguments,
      struct pprof_error *error)
{
    uint64_t windows;

    if (!store_prune(store, &arguments->limits, &windows, error)) {
        return false;
    }
    fprintf(stderr, "ntprof: removed %" PRIu64 " window%s\n", windows,
            windows == 1 ? "" : "s");
    return true;
}

static bool
fold(struct store *store, const struct store_arguments *arguments,
     struct pprof_error *error)
{
    uint64_t days;

    (void)arguments;
    if (!store_fold(store, &days, error)) {
        return false;
    }
    fprintf(stderr, "ntprof: folded %" PRIu64 " day%s\n", days, days == 1 ? "" : "s");
    return true;
}

static bool
symbolize_store(struct store *store, const struct store_arguments *arguments,
                struct pprof_error *error)
{
    struct symbolize_statistics statistics = {0};
    struct profile *const places = store_places(store, error);
    const bool done = places != NULL &&
                      symbolize_for_command("store", arguments->url, &arguments->names,
                                            places, &statistics) &&
                      (statistics.named == 0 || store_rename(store, places, error));

    if (done) {
        fprintf(stderr,
                "ntprof: %" PRIu64 " of %" PRIu64 " places without a name or a line "
                "have one now\n",
                statistics.named, statistics.rows);
    }
    profile_delete(places);
    return done;
}

const struct store_action store_actions[] = {
    {.name = "init", .run = init},
    {.name = "add", .run = add_files, .store = STORE_WRITTEN, .files = true},
    {.name = "stat", .run = print_stat, .store = STORE_READ},
    {.name = "check", .run = check, .store = STORE_READ},
    {.name = "prune", .run = prune, .store = STORE_WRITTEN, .limits = true},
    {.name = "fold", .run = fold, .store = STORE_WRITTEN},
    {.name = "symbolize", .run = symbolize_store, .store = STORE_WRITTEN},
    {.name = "upgrade", .run = upgrade},
    {0},
};

bool
store_action_run(const struct store_action *action,
                 const struct store_arguments *arguments)
{
    struct pprof_error error = {.text = ""};
    struct store *const store =
        action->store == STORE_CLOSED
            ? NULL
            : store_open(arguments->url, action->store == STORE_WRITTEN, &error);
    const bool done = (store != NULL || action->store == STORE_CLOSED) &&
                      action->run(store, arguments, &error);

    store_close(store);
    if (!done && error.text[0] != '\0') {
        cmd_fail("store", "%s", error.text);
    }
    return done;
}
