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

enum {
    OPTION_LISTEN = OPTION_OWN,
    OPTION_LISTINGS,
    OPTION_IMAGE_DIR,
    OPTION_SOURCE_DIR
};

static const struct option LONG_OPTIONS[] = {
    {"listen", required_argument, NULL, OPTION_LISTEN},
    {"listings", required_argument, NULL, OPTION_LISTINGS},
    {"image-dir", required_argument, NULL, OPTION_IMAGE_DIR},
    {"source-dir", required_argument, NULL, OPTION_SOURCE_DIR},
    OPTION_HELP_ROW,
    {0},
};

struct arguments {
    struct serve_settings settings;
    const char *listen;
    struct source_dirs dirs; /* backs settings.html.prefixes */
};

static bool
set_option(void *context, int option, char *value)
{
    struct arguments *const arguments = context;

    switch (option) {
    case OPTION_LISTEN:
        arguments->listen = value;
        return http_parse_address(&arguments->settings.address, value) ||
               cmd_refuse_value("serve", "--listen", value, HTTP_NO_ADDRESS);
    case OPTION_LISTINGS:
        return options_count("serve", "--listings", value, "none",
                             &arguments->settings.html.listings);
    case OPTION_IMAGE_DIR:
        arguments->settings.html.image_dir = value;
        return true;
    default:
        return source_dirs_add(&arguments->dirs, "serve", value);
    }
}

static const struct options_syntax syntax = {
    .command = "serve",
    .known = LONG_OPTIONS,
    .words_max = 1,
    .words_too_many = "only one store can be served",
    .set = set_option,
};

/* Open the store once, so that mistakes are reported before a browser asks. */
static bool
check_store(const char *url)
{
    struct pprof_error error;
    struct store *store;

    if (!store_is_url(url)) {
        return cmd_refuse("serve", url, "is no store; " STORE_URL_FORMS);
    }
    store = store_open(url, false, &error);
    if (store == NULL) {
        cmd_fail("serve", "%s", error.text);
    }
    store_close(store);
    return store != NULL;
}

static int
serve(const struct arguments *arguments)
{
    struct ending ending;
    struct http_server *server;
    char shown[100];
    char why[200];
    int failure;

    if (!check_store(arguments->settings.url)) {
        return CMD_FAILED;
    }
    /* Before there are threads, as in the agent. */
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
    if (options_take(&syntax, argc, argv, &arguments, &words, &status)) {
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
