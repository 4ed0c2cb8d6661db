/* SPDX-License-Identifier: MIT */
/* main.c - the ntprof command: finds the subcommand. */
#include "base/apart.h"
#include "base/command_log.h"
#include "base/embedded.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/complete.h"
#include "cli/log.h"
#include "cli/other_words.h"
#include "record/program_file.h"
#include "sandbox/process.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <ntprof/ntprof.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Fill each closed standard stream with a descriptor that cannot be read or written.
 * Otherwise a descriptor of ours could get its number, and take our messages. It is a
 * folder, so that /dev/stdout cannot be opened either. Commands get the stream closed,
 * as before, by O_CLOEXEC. */
static void
fill_closed_streams(void)
{
    int fd;

    do {
        fd = open("/", O_PATH | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
}

/* Flush standard output, end the processes of the command, and return the exit status.
 * A full disk shows only when output is flushed. EPIPE is no error: the reader closed
 * the pipe. */
static int
finish(int status)
{
    progress_end();
    sandbox_finish();
    errno = 0;
    if (fflush(stdout) != 0 && errno != EPIPE && status == CMD_OK) {
        status = cmd_fail(NULL, "cannot write to standard output: %s", strerror(errno));
    }
    COMMAND_LOG("exit status %d", status);
    apart_finish();
    return status;
}

/* Return whether a first word that is no subcommand names a program. */
static bool
is_to_run(const char *word)
{
    const struct program_choice choice = {.program = word};
    char path[PATH_MAX];
    char why[100];

    return word[0] != '-' &&
           program_file_find(&choice, "", path, sizeof(path), why, sizeof(why));
}

/* List the commands for a message, as "run, attach and version". */
static void
list_commands(char *list, size_t size)
{
    size_t used = 0;

    list[0] = '\0';
    for (const struct command *command = command_list; command->name != NULL;
         command++) {
        const char *const sign = command == command_list   ? ""
                                 : command[1].name != NULL ? ", "
                                                           : " and ";

        used += (size_t)snprintf(list + used, size - used, "%s%s", sign, command->name);
    }
}

/* Report a first word that is no command, with the line to type if that can be guessed.
 * Returns the exit status. */
static int
refuse_word(int argc, char **argv)
{
    const char *const word = argv[1];
    struct suggestion suggestion;
    char shown[80];
    char also[80] = "";
    char list[300];

    text_show(shown, sizeof(shown), word);
    if (strcmp(word, "-g") == 0 || strncmp(word, "--call-graph", 12) == 0) {
        return cmd_fail(NULL, "%s: callers are recorded by: ntprof run -g -- COMMAND",
                        shown);
    }
    if (word[0] == '-') {
        int at = 2;

        while (at < argc && command_find(argv[at]) == NULL) {
            at++;
        }
        return other_refuse_options(argc - 1, argv + 1, at < argc ? at - 1 : 0);
    }
    suggest_begin(&suggestion, word, strlen(word));
    for (const struct command *command = command_list; command->name != NULL;
         command++) {
        suggest_offer(&suggestion, command->name);
    }
    suggest_offer_words(&suggestion, command_words);
    if (suggest_append(&suggestion, also, sizeof(also))) {
        return cmd_fail(NULL, "no command named %s%s; see: ntprof help", shown, also);
    }
    list_commands(list, sizeof(list));
    return cmd_fail(NULL, "no command named %s; there are %s", shown, list);
}

/* Take the user's encoding of characters. For one that is neither UTF-8 nor ASCII libc
 * loads a library, which a command that is one file must not. */
static void
choose_encoding(void)
{
    const char *codeset;

    setlocale(LC_CTYPE, "");
    codeset = nl_langinfo(CODESET);
    if (embedded_is_used() && strcmp(codeset, "UTF-8") != 0 &&
        strcmp(codeset, "ANSI_X3.4-1968") != 0) {
        setlocale(LC_CTYPE, "C");
    }
}

int
main(int argc, char **argv)
{
    const char *instead;
    const struct command *command;
    char shown[80];

    fill_closed_streams();
    choose_encoding();
    cmd_begin();
    if (!log_begin()) {
        return CMD_FAILED;
    }
    if (argc < 2) {
        return cmd_fail(NULL,
                        "no command given; try: ntprof run -- COMMAND, or ntprof help");
    }
    if (strcmp(argv[1], "--complete") == 0) {
        return finish(complete_words(argc - 1, argv + 1));
    }
    command = command_find(argv[1]);
    if (command != NULL) {
        /* Without SIGXFSZ, write() reports that the file size limit is exceeded. run
         * does this by itself, as its command would inherit the ignored signal. */
        if (command->run != cmd_run) {
            signal(SIGXFSZ, SIG_IGN);
        }
        /* Arguments are not logged, as they may have secrets. */
        COMMAND_LOG("ntprof %s: %s begins", ntprof_version(), command->name);
        return finish(command->run(argc - 1, argv + 1));
    }
    text_show(shown, sizeof(shown), argv[1]);
    instead = other_command(argv[1]);
    if (instead != NULL && is_to_run(argv[1])) {
        return cmd_fail(NULL, "%s: %s; the program of that name: ntprof run -- %s",
                        shown, instead, shown);
    }
    if (instead != NULL) {
        return cmd_fail(NULL, "%s: %s", shown, instead);
    }
    if (is_to_run(argv[1])) {
        fprintf(stderr, "ntprof: running %s, short for: ntprof run -- %s\n", shown,
                shown);
        return finish(cmd_run(argc, argv));
    }
    return refuse_word(argc, argv);
}
