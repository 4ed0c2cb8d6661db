/* SPDX-License-Identifier: MIT */
/* help.c - ntprof help and ntprof version. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/other_words.h"

#include <ntprof/ntprof.h>
#include <stdio.h>
#include <string.h>

static const char overview[] =
    "Examples\n"
    "  ntprof run -- python3 job.py            profile a command, see the table\n"
    "  ntprof run -F 5k -o p.pb.gz -- ./a.out  5000 hits a second, file of choice\n"
    "  ntprof attach 1234 --duration 30s       profile what runs already\n"
    "  ntprof report ntprof.pb.gz --by image   read a profile again\n"
    "  go tool pprof -top ntprof.pb.gz         or with any tool that reads pprof\n"
    "\n"
    "usage: ntprof COMMAND [options] [ARGUMENT...]\n"
    "       ntprof PROGRAM [ARGUMENT...]     short for: ntprof run -- PROGRAM ..\n"
    "\n"
    "Counts where programs execute: a profiler with small files that\n"
    "reports every loss. With -g it finds the callers as well.\n"
    "\n";

static const char overview_end[] =
    "\n"
    "Every command takes --help too. Manuals: man ntprof, man ntprof-run and so on.\n";

static const char help[] = "Examples\n"
                           "  ntprof help            what there is\n"
                           "  ntprof help run        options of a command\n"
                           "\n"
                           "usage: ntprof help [COMMAND]\n";

const struct options_syntax cmd_help_options = {
    .command = "help",
    .help = help,
    .words_max = 1,
    .words_too_many = "one command at a time",
    .complete = {"<command>"},
};

static const char help_version[] = "Examples\n"
                                   "  ntprof version         such as: ntprof 0.1.0\n"
                                   "\n"
                                   "usage: ntprof version\n";

const struct options_syntax cmd_version_options = {.command = "version",
                                                   .help = help_version};

static void
print_overview(void)
{
    fputs(overview, stdout);
    for (const struct command *command = command_list; command->name != NULL;
         command++) {
        printf("  %-9s %s\n", command->name, command->summary);
    }
    fputs(overview_end, stdout);
}

/* Report a word that is no command, with what may have been meant. */
static int
refuse_command(const char *word)
{
    static const char see[] = "; see: ntprof help";
    struct suggestion suggestion;
    char why[120] = "no such command";

    suggest_begin(&suggestion, word, strlen(word));
    for (const struct command *command = command_list; command->name != NULL;
         command++) {
        suggest_offer(&suggestion, command->name);
    }
    suggest_offer_words(&suggestion, command_words);
    suggest_append(&suggestion, why, sizeof(why) - strlen(see)); /* room for see */
    strcat(why, see);
    cmd_refuse("help", word, why);
    return CMD_FAILED;
}

/* Return the command of this name; NULL if there is none. Options that stand for a
 * command, such as -h, are no names. */
static const struct command *
find_named(const char *word)
{
    return word[0] != '-' ? command_find(word) : NULL;
}

int
cmd_help(int argc, char **argv)
{
    const struct command *command;
    struct options_words words;
    int exit_status;

    if (!options_take(&cmd_help_options, argc, argv, NULL, &words, &exit_status)) {
        return exit_status;
    }
    if (words.count == 0) {
        print_overview();
        return CMD_OK;
    }
    command = find_named(words.list[0]);
    if (command == NULL) {
        return refuse_command(words.list[0]);
    }
    options_print_help(stdout, command->options);
    return CMD_OK;
}

int
cmd_version(int argc, char **argv)
{
    struct options_words words;
    int exit_status;

    if (!options_take(&cmd_version_options, argc, argv, NULL, &words, &exit_status)) {
        return exit_status;
    }
    printf("ntprof %s\n", ntprof_version());
    return CMD_OK;
}
