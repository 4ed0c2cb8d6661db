/* SPDX-License-Identifier: MIT */
/* cli/top.c - ntprof top: its options, those of recordings and those of stores. */
#include "top/top.h"
#include "cli/cmd.h"
#include "cli/recorded.h"
#include "cli/top_store.h"
#include "input/input.h"
#include "record/record_rows.h"
#include "view/screen/display.h"

#include <stdlib.h>
#include <unistd.h>

static const char help[] =
    "Examples\n"
    "  ntprof top                           the machine, live; q quits, ? helps\n"
    "  ntprof top nginx                     processes by name, and what they start\n"
    "  ntprof top --kernel -d 500ms         the kernel, twice a second\n"
    "  ntprof top -e time,page-faults       e changes from one to the other\n"
    "  ntprof top -g nginx                  c shows callers and callees\n"
    "  ntprof top sqlite:profiles.db --since 5m    what a store has of many machines\n"
    "\n"
    "usage: ntprof top [-a | PID[,PID..]|NAME ..] [options]\n"
    "       ntprof top URL [--since TIME] [options of stores]\n"
    "\n"
    "Shows functions and images with their hits since the last look and since the\n"
    "start; Enter shows source and instructions, c callers (with -g). It ends with\n"
    "q or Ctrl-C. All processes need root or CAP_PERFMON; processes of one's own need\n"
    "nothing; at kernel.perf_event_paranoid 3, Debian's default, all need root.\n";

static const struct options_row all_rows[] = {
    {"all", 'a', NULL, "all processes and the kernel: what it does without -p", NULL,
     OPTIONS_FLAG(struct record_options, all)},
    {0},
};

static const struct options_row time_rows[] = {
    {"delay", 'd', "TIME", "between two looks: 2s (default), 500ms, 1; at a store 10s",
     "500ms 1s 2s 10s",
     OPTIONS_INTO(record_take_refresh, struct record_options, delay_ns)},
    {"duration", 0, "TIME", "quit after 30s, 5m, 1h", "10s 30s 1m 5m 1h",
     OPTIONS_INTO(record_take_duration, struct record_options, duration_ns)},
    {0},
};

static const struct options_row file_rows[] = {
    {"output", 'o', "FILE",
     "what w writes (default ntprof.pb.gz); an older one becomes FILE.old", "<file>",
     OPTIONS_TEXT(struct record_options, output)},
    {0},
};

/* What a recording takes; top_store.h has what a store takes. */
#define RECORDING_GROUPS                                                           \
    {all_rows, 0}, {record_pid_rows, 0}, {time_rows, 0}, {record_machine_rows, 0}, \
        {record_hit_rows, 0}, {record_stack_rows, 0}, {file_rows, 0},              \
    {                                                                              \
        record_memory_rows, 0                                                      \
    }

/* What help shows and shells offer. */
const struct options_syntax cmd_top_options = {
    .command = "top",
    .help = help,
    .help_end = CMD_HELP_STATUS,
    .groups = {RECORDING_GROUPS, {input_rows, 0}},
    .words_max = SIZE_MAX,
    .complete = {",<pid>"},
};

static const struct options_syntax recording_options = {
    .command = "top",
    .groups = {RECORDING_GROUPS},
    .words_max = SIZE_MAX,
    .shown = &cmd_top_options,
};

static const struct record_syntax syntax = {
    .options = &recording_options, .pids = true, .screen = true};

/* Check that there is a terminal. instead: what there is for a file or a pipe. Returns
 * false after an error line. */
static bool
check_terminal(const char *instead)
{
    char why[300];

    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
        cmd_fail("top", "standard %s is no terminal; for a file or a pipe there %s",
                 isatty(STDOUT_FILENO) ? "input" : "output", instead);
        return false;
    }
    if (!tui_display_check(why, sizeof(why))) {
        cmd_fail("top", "%s", why);
        return false;
    }
    return true;
}

static int
cmd_top_store(int argc, char **argv)
{
    struct top_store store;
    int exit_status;

    if (top_store_take(&store, argc, argv, &exit_status)) {
        exit_status = check_terminal("is: ntprof report URL") &&
                              top_store_begin(&store) && top_show_store(&store)
                          ? CMD_OK
                          : CMD_FAILED;
    }
    top_store_finish(&store);
    return exit_status;
}

int
cmd_top(int argc, char **argv)
{
    struct record_options options;
    int exit_status;

    /* No downloads: a screen must not wait for servers. */
    unsetenv("DEBUGINFOD_URLS");
    if (top_store_is_named(argc, argv)) {
        return cmd_top_store(argc, argv);
    }
    if (record_options_take(&options, &syntax, argc, argv, &exit_status)) {
        options.quiet = true;
        exit_status =
            check_terminal("are: ntprof system, ntprof attach -p PID") &&
                    top_show_recording(&options, argv, recorded_print_statistics)
                ? CMD_OK
                : CMD_FAILED;
    }
    record_options_finish(&options);
    return exit_status;
}
