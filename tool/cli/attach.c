/* SPDX-License-Identifier: MIT */
/*
 * cli/attach.c - ntprof attach: profiles running processes.
 *
 * All processes are found and watched before ntprof waits for anything: if one of them
 * cannot be watched, none is profiled. ntprof never stops them.
 */
#include "cli/cmd.h"
#include "cli/recorded.h"
#include "record/control.h"
#include "record/record_rows.h"
#include "record/until_end.h"

static const char help[] =
    "Examples\n"
    "  ntprof attach 1234                          until Ctrl-C or its end\n"
    "  ntprof attach -p 1234,5678 --duration 30s   two of them, half a minute\n"
    "  ntprof attach nginx --every 1m -o /var/tmp/nginx.pb.gz   all called so\n"
    "  ntprof attach --children $(pidof -s make)   with its running children\n"
    "\n"
    "usage: ntprof attach [options] PID[,PID..]|NAME ..\n"
    "\n"
    "Profiles processes that run already, all their threads and what they start from\n"
    "now on, until Ctrl-C, the time, or the end of them all. They are not\n"
    "stopped. At kernel.perf_event_paranoid 3, Debian's default, this needs root.\n";

static const char help_end[] =
    "Exit status: 0, however it came to the end; 125 if ntprof failed, or one of\n"
    "them cannot be profiled.\n";

const struct options_syntax cmd_attach_options = {
    .command = "attach",
    .help = help,
    .help_end = help_end,
    .groups = {{record_pid_rows, 0},
               {record_duration_rows, 0},
               {record_region_rows, 0},
               {record_hit_rows, 0},
               {record_file_rows, 0},
               {record_stack_rows, 0},
               {record_memory_rows, 0},
               {record_table_rows, 0}},
    .words_max = SIZE_MAX,
    .complete = {",<pid>"},
};

static const struct record_syntax syntax = {.options = &cmd_attach_options,
                                            .pids = true};

int
cmd_attach(int argc, char **argv)
{
    struct record_options options;
    int exit_status;

    control_prepare();
    if (record_options_take(&options, &syntax, argc, argv, &exit_status)) {
        exit_status =
            record_until_end(&options, argv, recorded_print) ? CMD_OK : CMD_FAILED;
    }
    record_options_finish(&options);
    return exit_status;
}
