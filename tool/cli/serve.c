/* SPDX-License-Identifier: MIT */
/* cli/serve.c - ntprof serve: shows a store to browsers. */
#include "serve/serve.h"
#include "base/options.h"
#include "cli/cmd.h"
#include "cli/source_dirs.h"
#include "record/ending.h"
#include "sandbox/process.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTEN_DEFAULT "127.0.0.1:6071"

static const char help[] =
    "Examples\n"
    "  ntprof serve sqlite:/var/lib/ntprof/profiles.db   then http://127.0.0.1:6071/\n"
    "  ntprof serve 'clickhouse://db/ntprof?password-file=/etc/ntprof/password'\n"
    "\n"
    "usage: ntprof serve [options] URL\n"
    "\n"
    "Shows a store to browsers until Ctrl-C: the page of ntprof export --format html\n"
    "with a time, hosts, units and builds to choose, hits over time to drag a range\n"
    "on, and what changed between two selections. The store is only read; what the\n"
    "URL selects holds for every page. Whoever can connect can read all of it.\n";

struct arguments {
    struct serve_settings settings;
    const char *listen;
    struct source_dirs dirs; /* backs settings.html.prefixes */
};

static bool
take_listen(void *into, const struct options_given *given)
{
    struct arguments *const arguments = into;

    arguments->listen = given->value;
    return http_parse_address(&arguments->settings.address, given->value) ||
           options_refuse(given, HTTP_NO_ADDRESS);
}

static const struct options_row rows[] = {
    {"listen", 0, "[ADDR:]PORT", "where it listens (default 127.0.0.1:6071)",
     "127.0.0.1:", OPTIONS_CALL(take_listen)},
    {"listings", 0, "N",
     "put the code of so many functions into a page, from programs and sources here "
     "(default none)",
     NULL,
     OPTIONS_INTO(options_take_count_or_none, struct arguments,
                  settings.html.listings)},
    {"image-dir", 0, "DIR", "copies of programs and libraries lie there", "<folder>",
     OPTIONS_TEXT(struct arguments, settings.html.image_dir)},
    {"source-dir", 0, "[OLD=]NEW", "sources compiled in OLD are in NEW; repeatable",
     "<folder>", OPTIONS_INTO(source_dirs_take, struct arguments, dirs)},
    {0},
};

const struct options_syntax cmd_serve_options = {
    .command = "serve",
    .help = help,
    .help_end = CMD_HELP_STATUS,
    .groups = {{rows, 0}},
    .words_max = 1,
    .words_too_many = "only one store can be served",
    .complete = {"sqlite: clickhouse://"},
};

/* Open the store once, so that mistakes are reported before a browser asks. Returns
 * false after an error line. */
static bool
check_store(const char *url)
{
    struct pprof_error error;
    struct store *store;

    if (!store_is_url(url)) {
        return cmd_refuse("serve", url, "is no store; " STORE_URL_FORMS);
    }
    store = store_open(url, /* write */ false, &error);
    if (store == NULL) {
        cmd_fail("serve", "%s", error.text);
    }
    store_close(store);
    return store != NULL;
}

/* Serve the store until a signal. Returns the exit status. */
static int
serve(const struct arguments *arguments)
{
    struct ending ending;
    struct http_server *server;
    char shown[100];
    char why[300];
    int failure;

    if (!check_store(arguments->settings.url)) {
        return CMD_FAILED;
    }
    /* This forks, so it comes before there are threads. */
    failure = sandbox_prepare();
    failure = failure != 0 ? failure : ending_prepare(&ending);
    if (failure != 0) {
        return cmd_fail("serve", "cannot start: %s", strerror(-failure));
    }
    text_show(shown, sizeof(shown), arguments->listen);
    server = serve_start(&arguments->settings, why, sizeof(why));
    if (server == NULL) {
        ending_release(&ending);
        return cmd_fail("serve", "--listen %s: %s", shown, why);
    }
    cmd_fail("serve", "%s%s%s: until Ctrl-C",
             strchr(shown, ':') != NULL ? "http://" : "http://127.0.0.1:", shown, "/");
    serve_run(&arguments->settings, server, ending.signal_fd);
    ending_release(&ending);
    return CMD_OK;
}

int
cmd_serve(int argc, char **argv)
{
    struct arguments arguments = {
        .settings = {.html = {.format = "html"}}, /* no listings: see SECURITY.md */
        .listen = LISTEN_DEFAULT};
    struct options_words words;
    int status;

    unsetenv("DEBUGINFOD_URLS"); /* no downloads: pages must not wait for servers */
    (void)http_parse_address(&arguments.settings.address, LISTEN_DEFAULT);
    if (options_take(&cmd_serve_options, argc, argv, &arguments, &words, &status)) {
        arguments.settings.url = words.count > 0 ? words.list[0] : NULL;
        arguments.settings.html.prefixes = arguments.dirs.list;
        arguments.settings.html.prefix_count = arguments.dirs.count;
        status = arguments.settings.url != NULL
                     ? serve(&arguments)
                     : cmd_fail("serve", "no store is named: " STORE_URL_FORMS);
    }
    source_dirs_finish(&arguments.dirs);
    return status;
}
