/* SPDX-License-Identifier: MIT */
/* cli/system.c - ntprof system: profiles the whole machine until a signal or the
 * time. */
#include "cli/cmd.h"
#include "cli/recorded.h"
#include "record/control.h"
#include "record/record_rows.h"
#include "record/until_end.h"

static const char help[] =
    "Examples\n"
    "  ntprof system --duration 30s                   the machine, half a minute\n"
    "  ntprof system --kernel -C 0,1 --duration 10s   the kernel on two processors\n"
    "  ntprof system -G system.slice --duration 1m    only services of systemd\n"
    "  ntprof system --every 1m -o /var/tmp/all.pb.gz   until Ctrl-C\n"
    "\n"
    "usage: ntprof system [options]\n"
    "\n"
    "Profiles every process, those to come too, and the kernel, until Ctrl-C or the\n"
    "time. Needs root or CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less. At\n"
    "3, Debian's default, CAP_PERFMON is not enough.\n";

const struct options_syntax cmd_system_options = {
    .command = "system",
    .help = help,
    .help_end = CMD_HELP_STATUS,
    .groups = {{record_duration_rows, 0},
               {record_machine_rows, 0},
               {record_hit_rows, 0},
               {record_file_rows, 0},
               {record_stack_rows, 0},
               {record_memory_rows, 0},
               {record_table_rows, 0}},
};

static const struct record_syntax syntax = {.options = &cmd_system_options};

int
cmd_system(int argc, char **argv)
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
