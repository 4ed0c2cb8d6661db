/* SPDX-License-Identifier: MIT */
/* plain_options.c - the command lines of commands that take no more than --json and --help. */
#include "cmd/plain_options.h"
#include "cmd/cmd.h"
#include "util/text.h"

#include <getopt.h>
#include <stddef.h>

enum { OPTION_JSON = 256, OPTION_HELP };

static const struct option help_alone[] = {
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static const struct option json_and_help[] = {
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static enum plain_request
wrong(const char *command, const char *word)
{
    char shown[80];

    cmd_fail(command, "'%s' is not taken here; see: ntprof help %s",
             text_show(shown, sizeof(shown), word), command);
    return PLAIN_WRONG;
}

enum plain_request
plain_options_parse(const char *command, int argc, char **argv, bool *json)
{
    int option;

    optind = 0; /* glibc: begin anew */
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":",
                                 json != NULL ? json_and_help : help_alone, NULL)) !=
           -1) {
        if (option == OPTION_HELP) {
            return PLAIN_HELP;
        }
        if (option != OPTION_JSON) {
            return wrong(command, argv[optind - 1]);
        }
        *json = true;
    }
    return PLAIN_RUN;
}

bool
plain_options_take(const char *command, int argc, char **argv, bool *json,
                   int *exit_status)
{
    enum plain_request request = plain_options_parse(command, argc, argv, json);

    if (request == PLAIN_RUN && optind < argc) {
        request = wrong(command, argv[optind]);
    }
    if (request == PLAIN_RUN) {
        return true;
    }
    *exit_status =
        request == PLAIN_HELP && cmd_print_help(command) ? CMD_OK : CMD_FAILED;
    return false;
}
