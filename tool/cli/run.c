/* SPDX-License-Identifier: MIT */
/*
 * cli/run.c - ntprof run: profiles a command.
 *
 * Everything that can fail is tried before the command starts. The command is forked,
 * watched, and only then allowed to exec, so that no hit of it is missed. Where perf
 * events are refused, the command loads the preload object instead (record/preload.h).
 */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/recorded.h"
#include "record/child.h"
#include "record/record_rows.h"
#include "record/recording.h"

#include <errno.h>

static const char help[] =
    "Examples\n"
    "  ntprof run -- make -j4                    all processes of a build\n"
    "  ntprof run -e time,page-faults -- ./a     two sources at once\n"
    "  ntprof run --json --report r.json -- ./a  the table as JSON, in a file\n"
    "  ntprof run --every 1m -- ./server         a file never older than a minute\n"
    "  ntprof run --region hash -- ./a           one function, by instruction\n"
    "\n"
    "usage: ntprof run [options] -- COMMAND [ARGUMENT...]\n"
    "       ntprof COMMAND [ARGUMENT...]\n"
    "\n"
    "Runs the command as if ntprof were not there, then prints a table on standard\n"
    "error and writes a profile. SIGUSR2 to ntprof writes what there is so far.\n";

static const char help_end[] =
    "Exit status: the command's; 125 if ntprof failed, 126 if the command cannot be\n"
    "run, 127 if it was not found. A command that dies by a signal takes ntprof with\n"
    "it.\n";

static const struct options_row duration_rows[] = {
    {"duration", 0, "TIME", "stop counting after it; the command runs on",
     "10s 30s 1m 5m 1h",
     OPTIONS_INTO(record_take_duration, struct record_options, duration_ns)},
    {0},
};

const struct options_syntax cmd_run_options = {
    .command = "run",
    .help = help,
    .help_end = help_end,
    .groups = {{duration_rows, 0},
               {record_region_rows, 0},
               {record_hit_rows, 0},
               {record_file_rows, 0},
               {record_stack_rows, 0},
               {record_memory_rows, 0},
               {record_table_rows, 0}},
    .program = true,
};

static const struct record_syntax syntax = {.options = &cmd_run_options};

/* Fork a child that waits. Returns false after an error line. */
static bool
run_fork(struct recording *recording, struct child *child)
{
    const struct child_setting setting = {
        .environment = recording->preload.environment,
        .inherited = {recording->preload.used ? recording->preload.memory.fd : -1,
                      recording->preload.used ? recording->preload.object.fd : -1},
    };
    char **const command = recording->options->program;
    const int failure = child_fork(child, command, &setting);

    return failure == 0 ||
           recording_fail_errno(recording, "cannot start", command[0], -failure);
}

/* Watch the forked command from its exec on. If a limit is too low for that, and no
 * back end was asked for, another child is forked that counts by itself. Returns false
 * after an error line; there is no child then. */
static bool
run_watch(struct recording *recording, struct child *child)
{
    char shown[256];
    const char *why;
    const NTSTATUS status =
        recording_watch(recording, (uint32_t)child->pid,
                        NTPROF_WATCH_DESCENDANTS | NTPROF_WATCH_ON_EXEC, &why);

    if (NT_SUCCESS(status)) {
        return true;
    }
    child_abandon(child);
    if (status == STATUS_INSUFFICIENT_RESOURCES && recording->options->hal == NULL) {
        return recording_fall_back(recording, why) && run_fork(recording, child);
    }
    cmd_fail("run", "cannot profile %s, which was not started: %s",
             text_show(shown, sizeof(shown), recording->options->program[0]), why);
    return false;
}

/* Fork the command, watch it and let it exec. Returns false with *exit_status set,
 * after an error line. */
static bool
run_start(struct recording *recording, struct child *child, int *exit_status)
{
    char **const command = recording->options->program;
    int failure;

    *exit_status = CMD_FAILED;
    if (!run_fork(recording, child)) {
        return false;
    }
    if (!recording->preload.used && !run_watch(recording, child)) {
        return false;
    }
    recording->children = true;
    if (!recording_begin(recording, command)) {
        child_abandon(child);
        return false;
    }
    failure = child_exec(child);
    if (failure < 0) {
        *exit_status = failure == -ENOENT ? CMD_NOT_FOUND : CMD_NOT_EXECUTABLE;
        return recording_fail_errno(recording, "cannot run", command[0], -failure);
    }
    return true;
}

/* Record the command. Returns its exit status, or dies by its signal. */
static int
run_record(const struct record_options *options)
{
    struct recording recording;
    struct child child;
    int exit_status = CMD_FAILED;
    const bool ran = recording_open(&recording, options, /* machine */ false) &&
                     run_start(&recording, &child, &exit_status);

    if (ran) {
        child_wait(&child);
        recording_end(&recording);
        /* Pass on the command's exit status even if this fails. */
        (void)recording_deliver(&recording, recorded_print);
    }
    recording_close(&recording);
    return ran ? child_pass_on(&child) : exit_status;
}

int
cmd_run(int argc, char **argv)
{
    struct record_options options;
    int exit_status;

    child_prepare();
    control_prepare();
    if (record_options_take(&options, &syntax, argc, argv, &exit_status)) {
        exit_status = run_record(&options);
    }
    record_options_finish(&options);
    return exit_status;
}
