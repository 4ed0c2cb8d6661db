/* SPDX-License-Identifier: MIT */
/* cli/store.c - ntprof store: makes and looks after databases of profiles. */
#include "base/clock.h"
#include "base/hash_index.h"
#include "base/json.h"
#include "base/number.h"
#include "base/options.h"
#include "base/progress.h"
#include "cli/cmd.h"
#include "record/collect/symbolize.h"
#include "store/recorded.h"
#include "symbols/client/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

enum {
    OPTION_HOST = OPTION_OWN,
    OPTION_LABEL,
    OPTION_BEFORE,
    OPTION_MAX_SIZE,
    OPTION_CLUSTER,
    OPTION_DEBUGINFOD,
    OPTION_JSON
};

static const struct option LONG_OPTIONS[] = {
    {"host", required_argument, NULL, OPTION_HOST},
    {"label", required_argument, NULL, OPTION_LABEL},
    {"before", required_argument, NULL, OPTION_BEFORE},
    {"max-size", required_argument, NULL, OPTION_MAX_SIZE},
    {"cluster", required_argument, NULL, OPTION_CLUSTER},
    {"debuginfod", optional_argument, NULL, OPTION_DEBUGINFOD},
    {"json", no_argument, NULL, OPTION_JSON},
    OPTION_HELP_ROW,
    {0},
};

struct arguments {
    const char *url;
    struct store_url parsed;
    char **files; /* borrowed */
    size_t file_count;
    const char *host; /* NULL: this one */
    const char *labels[STORE_LABELS_MAX];
    size_t label_count;
    struct store_limits limits;
    const char *cluster; /* NULL: none */
    struct names_options names;
    bool json;
};

static bool
fail(const char *about, const char *why)
{
    return cmd_refuse("store", about, why);
}

static bool
fail_error(const struct pprof_error *error)
{
    cmd_fail("store", "%s", error->text);
    return false;
}

static bool
add_label(struct arguments *arguments, const char *label)
{
    const char *const equals = strchr(label, '=');

    if (equals == NULL || equals == label || strchr(label, '\n') != NULL) {
        return cmd_refuse_value("store", "--label", label, "write KEY=VALUE");
    }
    if (arguments->label_count == STORE_LABELS_MAX) {
        return cmd_refuse_value("store", "--label", label, "is one label too many");
    }
    arguments->labels[arguments->label_count++] = label;
    return true;
}

static bool
set_option(void *context, int option, char *value)
{
    struct arguments *const arguments = context;

    switch (option) {
    case OPTION_HOST:
        arguments->host = value;
        return value[0] != '\0' || fail("--host", "is empty");
    case OPTION_LABEL:
        return add_label(arguments, value);
    case OPTION_BEFORE:
        return store_parse_time(value, (int64_t)clock_ns(CLOCK_REALTIME),
                                &arguments->limits.before_ns) ||
               cmd_refuse_value("store", "--before", value, STORE_NO_TIME);
    case OPTION_MAX_SIZE:
        return (number_parse_bytes(value, &arguments->limits.bytes_max) &&
                arguments->limits.bytes_max > 0) ||
               cmd_refuse_value("store", "--max-size", value,
                                "is no size such as 500M or 20G");
    case OPTION_CLUSTER:
        arguments->cluster = value;
        return value[0] != '\0' || fail("--cluster", "is empty");
    case OPTION_DEBUGINFOD:
        arguments->names.download = true;
        arguments->names.urls = value;
        return true;
    default:
        arguments->json = true;
        return true;
    }
}

static const struct options_syntax syntax = {
    .command = "store",
    .known = LONG_OPTIONS,
    .words_max = SIZE_MAX,
    .set = set_option,
};

/* ---- actions ---- */

static bool
init(const struct arguments *arguments)
{
    struct pprof_error error;

    return store_create(&arguments->parsed, arguments->cluster, &error) ||
           fail_error(&error);
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
add_file(struct store *store, const struct arguments *arguments, const char *path)
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
    return added || fail(path, error.text);
}

static bool
add(const struct arguments *arguments)
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

static void
print_time(char *text, size_t size, int64_t time_ns)
{
    const time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm local;

    if (time_ns == 0 || localtime_r(&seconds, &local) == NULL ||
        strftime(text, size, "%Y-%m-%dT%H:%M:%S", &local) == 0) {
        snprintf(text, size, "-");
    }
}

static void
print_statistics(const struct store_statistics *statistics)
{
    char first[32];
    char last[32];

    print_time(first, sizeof(first), statistics->first_ns);
    print_time(last, sizeof(last), statistics->last_ns);
    printf("hosts     %" PRIu64 "\n"
           "windows   %" PRIu64 "  from %s to %s\n"
           "rows      %" PRIu64 "\n"
           "places    %" PRIu64 "\n"
           "size      %" PRIu64 " bytes",
           statistics->hosts, statistics->windows, first, last, statistics->rows,
           statistics->places, statistics->bytes);
    if (statistics->rows != 0) {
        printf(", %.1f for a row",
               (double)statistics->bytes / (double)statistics->rows);
    }
    putchar('\n');
}

static void
print_statistics_json(const struct store_statistics *statistics)
{
    struct buffer json = {0};

    buffer_append_text(&json, "{");
    json_put_number_member(&json, "hosts", statistics->hosts);
    json_put_number_member(&json, "windows", statistics->windows);
    json_put_number_member(&json, "first_ns", (uint64_t)statistics->first_ns);
    json_put_number_member(&json, "last_ns", (uint64_t)statistics->last_ns);
    json_put_number_member(&json, "rows", statistics->rows);
    json_put_number_member(&json, "places", statistics->places);
    json_put_number_member(&json, "bytes", statistics->bytes);
    json_end(&json, '}');
    if (!json.failed) {
        fwrite(json.data, 1, json.size, stdout);
        putchar('\n');
    }
    buffer_finish(&json);
}

static bool
print_stat(const struct arguments *arguments)
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
        print_statistics_json(&statistics);
    } else {
        print_statistics(&statistics);
    }
    return true;
}

static bool
check_store(const struct arguments *arguments)
{
    struct pprof_error error;
    struct store *const store = store_open(arguments->url, false, &error);
    const bool whole = store != NULL && store_check(store, &error);

    store_close(store);
    return whole || fail_error(&error);
}

static bool
prune(const struct arguments *arguments)
{
    struct pprof_error error;
    struct store *store;
    uint64_t windows;
    bool pruned;

    if (arguments->limits.before_ns == 0 && arguments->limits.bytes_max == 0) {
        return fail("--before, --max-size",
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
fold(const struct arguments *arguments)
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

/* Name places by files of this machine. Returns false after an error line. */
static bool
name_places(const struct arguments *arguments, struct profile *places,
            struct symbolize_statistics *statistics)
{
    struct names names;
    bool done = names_open(&names, "store", &arguments->names, false);

    if (done) {
        names_begin(&names);
        done = symbolize(places, &names.settings, statistics) ||
               fail(arguments->url, "out of memory for its names");
        names_end(&names);
    }
    names_close(&names);
    return done;
}

static bool
symbolize_store(const struct arguments *arguments)
{
    struct symbolize_statistics statistics = {0};
    struct pprof_error error;
    struct store *const store = store_open(arguments->url, true, &error);
    struct profile *const places = store != NULL ? store_places(store, &error) : NULL;
    bool done = places != NULL || fail_error(&error);

    done = done && name_places(arguments, places, &statistics) &&
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

/* ---- the command line ---- */

static const struct {
    const char *name;
    bool (*run)(const struct arguments *arguments);
    bool files;
} actions[] = {
    {"init", init, false},
    {"add", add, true},
    {"stat", print_stat, false},
    {"check", check_store, false},
    {"prune", prune, false},
    {"fold", fold, false},
    {"symbolize", symbolize_store, false},
};

enum { ACTIONS = sizeof(actions) / sizeof(actions[0]) };

static size_t
find_action(const char *name)
{
    size_t i = 0;

    while (i < ACTIONS && strcmp(actions[i].name, name) != 0) {
        i++;
    }
    return i;
}

/* Take the words: an action, a URL, and files for add. Returns the action, or ACTIONS
 * after an error line. */
static size_t
take_words(struct arguments *arguments, const struct options_words *words)
{
    const size_t action = words->count > 0 ? find_action(words->list[0]) : ACTIONS;
    struct pprof_error error;

    if (action == ACTIONS) {
        fail(words->count > 0 ? words->list[0] : "ACTION",
             "is none of init, add, stat, check, prune, fold, symbolize");
        return ACTIONS;
    }
    if (words->count < 2 || !store_is_url(words->list[1])) {
        fail(words->count < 2 ? "URL" : words->list[1], STORE_URL_FORMS);
        return ACTIONS;
    }
    if (!store_url_parse(words->list[1], (int64_t)clock_ns(CLOCK_REALTIME),
                         &arguments->parsed, &error)) {
        fail_error(&error);
        return ACTIONS;
    }
    arguments->url = words->list[1];
    arguments->files = words->list + 2;
    arguments->file_count = words->count - 2;
    if (arguments->parsed.selects) {
        fail(words->list[1], "parameters select what is read; here the whole store is "
                             "meant");
        return ACTIONS;
    }
    if (actions[action].files != (arguments->file_count > 0)) {
        fail(words->list[0], actions[action].files ? "no FILE was named"
                                                   : "takes no word behind the URL");
        return ACTIONS;
    }
    return action;
}

int
cmd_store(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct options_words words;
    size_t action;
    int status;

    if (!options_take(&syntax, argc, argv, &arguments, &words, &status)) {
        return status;
    }
    action = take_words(&arguments, &words);
    status = action < ACTIONS && actions[action].run(&arguments) ? CMD_OK : CMD_FAILED;
    store_url_finish(&arguments.parsed);
    return status;
}
