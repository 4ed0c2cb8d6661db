/* SPDX-License-Identifier: MIT */
/* store_actions.c - makes and looks after databases of profiles. */
#include "cli/store_actions.h"
#include "base/hash_index.h"
#include "base/message.h"
#include "base/progress.h"
#include "record/collect/symbolize.h"
#include "store/recorded.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

static bool
fail_error(const struct pprof_error *error)
{
    cmd_fail("store", "%s", error->text);
    return false;
}

static bool
init(const struct store_arguments *arguments)
{
    struct pprof_error error;

    return store_create(&arguments->parsed, arguments->cluster, &error) ||
           fail_error(&error);
}

static bool
upgrade(const struct store_arguments *arguments)
{
    struct pprof_error error;

    return store_upgrade(&arguments->parsed, &error) || fail_error(&error);
}

/* A profile that is rewritten while it is recorded is the same window: what is the same
 * then is its command and its start. */
static void
make_epoch(const struct profile *profile, char *epoch, size_t size)
{
    const char *const command = profile->command != NULL ? profile->command : "";

    snprintf(epoch, size, STORE_EPOCH_FILE "%08" PRIx32,
             hash_bytes(command, strlen(command)));
}

static bool
add_file(struct store *store, const struct store_arguments *arguments, const char *path)
{
    struct pprof_error error;
    struct profile *const profile = pprof_read(path, &error);
    struct utsname machine = {0};
    char epoch[32];
    bool added;

    if (profile == NULL) {
        return fail_error(&error);
    }
    uname(&machine);
    make_epoch(profile, epoch, sizeof(epoch));
    added = store_add_recorded(
        store, profile,
        &(struct store_window){.host = arguments->host != NULL ? arguments->host
                                                               : machine.nodename,
                               .epoch = epoch,
                               .labels = arguments->labels,
                               .label_count = arguments->label_count},
        &error);
    profile_delete(profile);
    return added || cmd_refuse("store", path, error.text);
}

static bool
add_files(const struct store_arguments *arguments)
{
    struct pprof_error error;
    struct store *const store = store_open(arguments->url, true, &error);
    bool added = true;

    if (store == NULL) {
        return fail_error(&error);
    }
    for (size_t i = 0; i < arguments->file_count && added; i++) {
        progress_report("adding: %zu of %zu files", i, arguments->file_count);
        added = add_file(store, arguments, arguments->files[i]);
    }
    progress_end();
    store_close(store);
    return added;
}

static bool
print_stat(const struct store_arguments *arguments)
{
    struct store_statistics statistics;
    struct pprof_error error;
    struct store *const store = store_open(arguments->url, false, &error);
    const bool known =
        store != NULL && store_get_statistics(store, &statistics, &error);

    store_close(store);
    if (!known) {
        return fail_error(&error);
    }
    if (arguments->json) {
        store_print_statistics_json(&statistics);
    } else {
        store_print_statistics(&statistics);
    }
    return true;
}

static bool
check_store(const struct store_arguments *arguments)
{
    struct pprof_error error;
    struct store *const store = store_open(arguments->url, false, &error);
    const bool whole = store != NULL && store_check(store, &error);

    store_close(store);
    return whole || fail_error(&error);
}

static bool
prune(const struct store_arguments *arguments)
{
    struct pprof_error error;
    struct store *store;
    uint64_t windows;
    bool pruned;

    if (arguments->limits.before_ns == 0 && arguments->limits.bytes_max == 0) {
        return cmd_refuse(
            "store", "--before, --max-size",
            "both are missing: as --before 30d, windows that ended before are "
            "removed, or as --max-size 20G the oldest");
    }
    store = store_open(arguments->url, true, &error);
    pruned = store != NULL && store_prune(store, &arguments->limits, &windows, &error);
    store_close(store);
    if (!pruned) {
        return fail_error(&error);
    }
    fprintf(stderr, "ntprof: removed %" PRIu64 " window%s\n", windows,
            windows == 1 ? "" : "s");
    return true;
}

static bool
fold(const struct store_arguments *arguments)
{
    struct pprof_error error;
    struct store *const store = store_open(arguments->url, true, &error);
    uint64_t days;
    const bool folded = store != NULL && store_fold(store, &days, &error);

    store_close(store);
    if (!folded) {
        return fail_error(&error);
    }
    fprintf(stderr, "ntprof: folded %" PRIu64 " day%s\n", days, days == 1 ? "" : "s");
    return true;
}

static bool
symbolize_store(const struct store_arguments *arguments)
{
    struct symbolize_statistics statistics = {0};
    struct pprof_error error;
    struct store *const store = store_open(arguments->url, true, &error);
    struct profile *const places = store != NULL ? store_places(store, &error) : NULL;
    bool done = places != NULL || fail_error(&error);

    done = done &&
           symbolize_for_command("store", arguments->url, &arguments->names, places,
                                 &statistics) &&
           (statistics.named == 0 || store_rename(store, places, &error) ||
            fail_error(&error));
    if (done) {
        fprintf(stderr,
                "ntprof: %" PRIu64 " of %" PRIu64 " places without a name or a line "
                "have one now\n",
                statistics.named, statistics.rows);
    }
    profile_delete(places);
    store_close(store);
    return done;
}

const struct store_action *
store_action_find(const char *name)
{
    static const struct store_action actions[] = {
        {"init", init, false},
        {"add", add_files, true},
        {"stat", print_stat, false},
        {"check", check_store, false},
        {"prune", prune, false},
        {"fold", fold, false},
        {"symbolize", symbolize_store, false},
        {"upgrade", upgrade, false},
    };

    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (strcmp(actions[i].name, name) == 0) {
            return &actions[i];
        }
    }
    return NULL;
}
