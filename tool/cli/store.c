/* SPDX-License-Identifier: MIT */
/* cli/store.c - ntprof store: its options. */
#include "base/clock.h"
#include "base/number.h"
#include "cli/cmd.h"
#include "cli/store_actions.h"

#include <string.h>

static const char help[] =
    "Examples\n"
    "  ntprof store init sqlite:profiles.db\n"
    "  ntprof store add sqlite:profiles.db host-*/ntprof.pb.gz\n"
    "  ntprof report 'sqlite:profiles.db?since=1d&host=web*'     the sum of a day\n"
    "  ntprof store prune sqlite:profiles.db --before 30d\n"
    "\n"
    "usage: ntprof store init|stat|check|fold|symbolize|upgrade URL\n"
    "       ntprof store add URL FILE...\n"
    "       ntprof store prune URL [--before TIME] [--max-size SIZE]\n"
    "\n"
    "Keeps profiles in a database, which report, top, annotate, diff, merge, export\n"
    "read in the place of a file: sqlite:PATH or clickhouse://USER@HOST:PORT/DATABASE\n"
    "(clickhouses: with TLS), behind it since, until, host, unit, label, source,\n"
    "interval, image and build. Adding a file again changes nothing.\n";

static bool
take_label(void *into, const struct options_given *given)
{
    struct store_arguments *const arguments = into;
    const char *const equals = strchr(given->value, '=');

    if (equals == NULL || equals == given->value ||
        strchr(given->value, '\n') != NULL) {
        return options_refuse(given, "write KEY=VALUE");
    }
    if (arguments->label_count == STORE_LABELS_MAX) {
        return options_refuse(given, "is one label too many");
    }
    arguments->labels[arguments->label_count++] = given->value;
    return true;
}

static bool
take_name(void *into, const struct options_given *given)
{
    *(const char **)into = given->value;
    if (given->value[0] == '\0') {
        cmd_fail("store", "--%s: is empty", given->row->name);
    }
    return given->value[0] != '\0';
}

static bool
take_before(void *into, const struct options_given *given)
{
    return store_parse_time(given->value, (int64_t)clock_ns(CLOCK_REALTIME), into) ||
           options_refuse(given, STORE_NO_TIME);
}

static bool
take_size(void *into, const struct options_given *given)
{
    uint64_t *const bytes = into;

    return (number_parse_bytes(given->value, bytes) && *bytes > 0) ||
           options_refuse(given, "is no size such as 500M or 20G");
}

#define INTO(take, member) OPTIONS_INTO(take, struct store_arguments, member)

static const struct options_row rows[] = {
    {"host", 0, "NAME", "add: where it was recorded (default: this machine)", "<host>",
     INTO(take_name, host)},
    {"label", 0, "KEY=VALUE", "add: a label of the windows; repeatable", NULL,
     OPTIONS_CALL(take_label)},
    {"before", 0, "TIME", "prune: remove what ended before it: 30d, 2026-11-23",
     "1d 7d 30d 90d", INTO(take_before, limits.before_ns)},
    {"max-size", 0, "SIZE", "prune: remove the oldest until the store is as small",
     "1G 20G", INTO(take_size, limits.bytes_max)},
    {"cluster", 0, "NAME", "init: on all servers of a cluster of ClickHouse", NULL,
     INTO(take_name, cluster)},
    {"debuginfod", 0, "[=URL]", "symbolize: get debug files from servers", NULL,
     INTO(names_take_debuginfod, names)},
    {"no-cache", 0, NULL,
     "symbolize: unpack debug sections anew, and keep none for later", NULL,
     OPTIONS_FLAG(struct store_arguments, names.no_cache)},
    {"json", 0, NULL, "stat: as JSON", NULL,
     OPTIONS_FLAG(struct store_arguments, json)},
    {0},
};

const struct options_syntax cmd_store_options = {
    .command = "store",
    .help = help,
    .groups = {{rows, 0}},
    .words_max = SIZE_MAX,
    .complete = {"<store-action>", "sqlite: clickhouse://", "<profile>"},
};

int
cmd_store(int argc, char **argv)
{
    struct store_arguments arguments = {0};
    const struct store_action *action;
    struct options_words words;
    int status;

    if (!options_take(&cmd_store_options, argc, argv, &arguments, &words, &status)) {
        return status;
    }
    action = store_take_words(&arguments, &words);
    status =
        action != NULL && store_action_run(action, &arguments) ? CMD_OK : CMD_FAILED;
    store_url_finish(&arguments.parsed);
    return status;
}
