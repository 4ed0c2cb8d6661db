/* SPDX-License-Identifier: MIT */
/* main.c - the ntprof command: finds the subcommand. */
#include "base/progress.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "sandbox/process.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", cmd_run},           {"attach", cmd_attach}, {"system", cmd_system},
    {"top", cmd_top},           {"agent", cmd_agent},   {"report", cmd_report},
    {"annotate", cmd_annotate}, {"diff", cmd_diff},     {"merge", cmd_merge},
    {"export", cmd_export},     {"store", cmd_store},   {"serve", cmd_serve},
    {"sources", cmd_sources},   {"doctor", cmd_doctor}, {"help", cmd_help},
    {"version", cmd_version},   {"--help", cmd_help},   {"-h", cmd_help},
    {"--version", cmd_version}, {"-v", cmd_version},
};

/* Flush standard output and return the exit status. A full disk shows only here; EPIPE
 * is no error, since the reader closed the pipe. */
static int
finish(int status)
{
    progress_end();
    sandbox_finish();
    errno = 0;
    if (fflush(stdout) == 0 || errno == EPIPE || status != CMD_OK) {
        return status;
    }
    return cmd_fail(NULL, "cannot write to standard output: %s", strerror(errno));
}

/* Words of perf's command line, and what to use instead. */
static const struct {
    const char *word;
    const char *instead;
} foreign_words[] = {
    {"record", CMD_PLACES_NOT_CALLERS "; to profile a command: ntprof run -- COMMAND, "
                                      "what runs already: ntprof attach PID, the "
                                      "machine: ntprof system"},
    {"stat",
     "to count events of a command: ntprof run -e SOURCE --by source -- COMMAND; "
     "ntprof sources lists what can be counted"},
    {"-g", CMD_PLACES_NOT_CALLERS "; without it: ntprof run -- COMMAND"},
    {"--call-graph", CMD_PLACES_NOT_CALLERS "; without it: ntprof run -- COMMAND"},
};

static const char *
find_instead(const char *word)
{
    const size_t length = strcspn(word, "=");

    for (size_t i = 0; i < sizeof(foreign_words) / sizeof(foreign_words[0]); i++) {
        if (strlen(foreign_words[i].word) == length &&
            strncmp(word, foreign_words[i].word, length) == 0) {
            return foreign_words[i].instead;
        }
    }
    return NULL;
}

static bool
is_program(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           access(path, X_OK) == 0;
}

/* Whether there is a program of this name in a directory of PATH. An empty entry is the
 * current directory. */
static bool
is_on_path(const char *name)
{
    const char *folder = getenv("PATH");
    char path[PATH_MAX];

    while (folder != NULL && name[0] != '\0') {
        const size_t length = strcspn(folder, ":");
        const int size = snprintf(path, sizeof(path), "%.*s%s%s", (int)length, folder,
                                  length > 0 ? "/" : "", name);

        if (size > 0 && (size_t)size < sizeof(path) && is_program(path)) {
            return true;
        }
        folder = folder[length] == ':' ? folder + length + 1 : NULL;
    }
    return false;
}

/* Whether the first word, which is not a subcommand, names a program to run. */
static bool
is_to_run(const char *word)
{
    return word[0] != '-' && (strchr(word, '/') != NULL || is_on_path(word));
}

int
main(int argc, char **argv)
{
    const char *instead;
    char shown[80];

    setlocale(LC_CTYPE, "");
    if (argc < 2) {
        return cmd_fail(NULL,
                        "no command given; try: ntprof run -- COMMAND, or ntprof help");
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            /* Exceeding the file size limit is reported as an error of write(). run
             * handles the signal itself, so that its command does not inherit this. */
            if (commands[i].run != cmd_run) {
                signal(SIGXFSZ, SIG_IGN);
            }
            return finish(commands[i].run(argc - 1, argv + 1));
        }
    }
    instead = find_instead(argv[1]);
    if (instead != NULL) {
        return cmd_fail(NULL, "%s: %s", text_show(shown, sizeof(shown), argv[1]),
                        instead);
    }
    if (is_to_run(argv[1])) {
        text_show(shown, sizeof(shown), argv[1]);
        fprintf(stderr, "ntprof: running %s, short for: ntprof run -- %s\n", shown,
                shown);
        return finish(cmd_run(argc, argv));
    }
    return cmd_fail(NULL,
                    "no command named '%s'; there are run, attach, system, top, agent, "
                    "report, annotate, "
                    "diff, merge, export, store, serve, sources, doctor, help "
                    "and version",
                    text_show(shown, sizeof(shown), argv[1]));
}
