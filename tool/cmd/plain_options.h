/* SPDX-License-Identifier: MIT */
/* plain_options.h - the command lines of commands that take no more than --json and --help. */
#ifndef CMD_PLAIN_OPTIONS_H
#define CMD_PLAIN_OPTIONS_H

#include <stdbool.h>

enum plain_request { PLAIN_RUN, PLAIN_HELP, PLAIN_WRONG };

/* What argv asks of its command; json: NULL if that has no such option. After PLAIN_WRONG an error line
 * is on standard error. Words that are no options are at argv[optind] on. */
enum plain_request plain_options_parse(const char *command, int argc, char **argv,
                                       bool *json);

/* The same for a command that takes no other words. True: it is to run. False: *exit_status is what it
 * exits with, after its help or an error line. */
bool plain_options_take(const char *command, int argc, char **argv, bool *json,
                        int *exit_status);

#endif
