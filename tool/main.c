/* SPDX-License-Identifier: MIT */
/* main.c - the ntprof command: finds the subcommand. */
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "util/text.h"

#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", cmd_run},           {"attach", cmd_attach}, {"system", cmd_system},
    {"top", cmd_top},           {"report", cmd_report}, {"annotate", cmd_annotate},
    {"diff", cmd_diff},         {"merge", cmd_merge},   {"export", cmd_export},
    {"sources", cmd_sources},   {"doctor", cmd_doctor}, {"help", cmd_help},
    {"version", cmd_version},   {"--help", cmd_help},   {"-h", cmd_help},
    {"--version", cmd_version}, {"-v", cmd_version},
};

/* A full disk shows only here; whoever closes a pipe had enough. */
static int
finish(int status)
{
    progress_end();
    errno = 0;
    if (fflush(stdout) == 0 || errno == EPIPE || status != CMD_OK) {
        return status;
    }
    return cmd_fail(NULL, "cannot write to standard output: %s", strerror(errno));
}

int
main(int argc, char **argv)
{
    char shown[80];

    setlocale(LC_CTYPE, "");
    /* One arena for all threads: what libdw gave back in one is not unmapped, to be faulted in by the next. */
    (void)mallopt(M_ARENA_MAX, 1);
    if (argc < 2) {
        return cmd_fail(NULL,
                        "no command given; try: ntprof run -- COMMAND, or ntprof help");
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            /* A file size limit is a reason not to write, not an end without a word. What
             * run starts must not know of it: it sees to that signal itself. */
            if (commands[i].run != cmd_run) {
                signal(SIGXFSZ, SIG_IGN);
            }
            return finish(commands[i].run(argc - 1, argv + 1));
        }
    }
    return cmd_fail(
        NULL,
        "no command named '%s'; there are run, attach, system, top, report, annotate, "
        "diff, merge, export, sources, doctor, help "
        "and version",
        text_show(shown, sizeof(shown), argv[1]));
}
