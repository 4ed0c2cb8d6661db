/* SPDX-License-Identifier: MIT */
/* help.c - ntprof help and ntprof version, and how commands report errors. */
#include "cmd/cmd.h"
#include "util/text.h"

#include <ntprof/ntprof.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char help_ntprof[] =
    "ntprof counts where programs execute: a profiler with small files and nothing "
    "lost.\n"
    "\n"
    "Examples\n"
    "  ntprof run -- python3 job.py       profile a command, see the table at its end\n"
    "  ntprof run -F 5k -o p.pb.gz -- ./a.out   5000 hits a second, file of your "
    "choice\n"
    "  ntprof attach -p 1234 --duration 30s     profile what runs already\n"
    "  ntprof report ntprof.pb.gz --by image    read a profile again\n"
    "  go tool pprof -top ntprof.pb.gz          or with any tool that reads pprof\n"
    "\n"
    "Commands\n"
    "  run       run a command and profile it and all that it starts\n"
    "  attach    profile processes that run already, from now on\n"
    "  system    profile all processes and the kernel\n"
    "  report    show a profile: by function, line, image, address, process, source\n"
    "  sources   what can interrupt on this machine, and why the rest cannot\n"
    "  doctor    what works for this user here, what is refused, what would allow it\n"
    "  help      help of a command: ntprof help run\n"
    "  version   the version\n"
    "\n"
    "It counts addresses, not call stacks.\n";

static const char help_run[] =
    "usage: ntprof run [options] -- COMMAND [ARGUMENT...]\n"
    "\n"
    "Examples\n"
    "  ntprof run -- make -j4                   all processes of a build\n"
    "  ntprof run -e time,page-faults -- ./a    two sources at once\n"
    "  ntprof run --json --report r.json -- ./a the table as JSON, in a file\n"
    "  ntprof run --every 1m -- ./server        a file that is never older than a "
    "minute\n"
    "\n"
    "Runs the command as if ntprof were not there, then prints a table on standard "
    "error\n"
    "and writes a profile. The exit status is the command's.\n"
    "\n"
    "  -e SOURCE[,..]     what interrupts (default time); see: ntprof sources\n"
    "  -F HZ              rate of source time: 997 (default), 5k, 1kHz, max\n"
    "  --interval TIME    instead of -F: 1ms, 250us\n"
    "  -c EVENTS          events for a hit, for the other sources\n"
    "  --bucket BYTES     code bytes for a counter: 4 (default), 8, 16 .. 1M\n"
    "  -C CPUS            only on these processors: 0,2-3\n"
    "  --hal NAME         this way of getting hits, or none: bpf, perf, sim\n"
    "  -o FILE            the profile (default ntprof.pb.gz); the old one becomes "
    "FILE.old\n"
    "  --every TIME       rewrite the file at intervals: 10s, 1m; a crash loses one at "
    "most\n"
    "  --max-memory SIZE  keep to it (default 1G) and say what was left out\n"
    "  --no-lines         names of functions alone: no source lines, nothing inlined\n"
    "  --debuginfod[=URL] get debug files from servers; also if DEBUGINFOD_URLS is "
    "set\n"
    "  --rows N           rows of the table (default 20); 0 for all\n"
    "  --json             JSON instead of the table\n"
    "  --report FILE      table or JSON into FILE, not on standard error; - is "
    "standard output\n"
    "  -q                 no table, only errors\n"
    "\n"
    "Exit status: the command's; 125 if ntprof failed, 126 if the command cannot be "
    "run,\n"
    "127 if it was not found. A command that dies by a signal takes ntprof with it.\n";

static const char help_attach[] =
    "usage: ntprof attach -p PID[,PID..] [options]\n"
    "\n"
    "Examples\n"
    "  ntprof attach -p 1234                    until Ctrl-C or its end\n"
    "  ntprof attach -p 1234,5678 --duration 30s   two of them, half a minute\n"
    "  ntprof attach -p $(pidof -s nginx) --every 1m -o /var/tmp/nginx.pb.gz\n"
    "\n"
    "Profiles processes that run already, all their threads and what they start from "
    "now\n"
    "on, until Ctrl-C, the time, or the end of them all. They are neither stopped nor "
    "slowed.\n"
    "\n"
    "  -p PID[,..]        the processes; all of them or none\n"
    "  --duration TIME    stop after 30s, 5m, 1h\n"
    "\n"
    "  -e SOURCE[,..]     what interrupts (default time); see: ntprof sources\n"
    "  -F HZ              rate of source time: 997 (default), 5k, 1kHz, max\n"
    "  --interval TIME    instead of -F: 1ms, 250us\n"
    "  -c EVENTS          events for a hit, for the other sources\n"
    "  --bucket BYTES     code bytes for a counter: 4 (default), 8, 16 .. 1M\n"
    "  -C CPUS            only on these processors: 0,2-3\n"
    "  --hal NAME         this way of getting hits, or none: bpf, perf, sim\n"
    "  -o FILE            the profile (default ntprof.pb.gz); the old one becomes "
    "FILE.old\n"
    "  --every TIME       rewrite the file at intervals: 10s, 1m; a crash loses one at "
    "most\n"
    "  --max-memory SIZE  keep to it (default 1G) and say what was left out\n"
    "  --no-lines         names of functions alone: no source lines, nothing inlined\n"
    "  --debuginfod[=URL] get debug files from servers; also if DEBUGINFOD_URLS is "
    "set\n"
    "  --rows N           rows of the table (default 20); 0 for all\n"
    "  --json             JSON instead of the table\n"
    "  --report FILE      table or JSON into FILE, not on standard error; - is "
    "standard output\n"
    "  -q                 no table, only errors\n"
    "\n"
    "Exit status: 0, however it came to the end; 125 if ntprof failed, or one of them "
    "cannot\n"
    "be profiled.\n";

static const char help_system[] =
    "usage: ntprof system [options]\n"
    "\n"
    "Examples\n"
    "  ntprof system --duration 30s             where the machine spends half a "
    "minute\n"
    "  ntprof system --kernel -C 0,1 --duration 10s   the kernel on two processors\n"
    "  ntprof system -G system.slice --duration 1m   services of systemd alone\n"
    "  ntprof system --every 1m -o /var/tmp/all.pb.gz   until Ctrl-C\n"
    "\n"
    "Profiles every process, those to come too, and the kernel, until Ctrl-C or the "
    "time.\n"
    "Needs root or CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less.\n"
    "\n"
    "  --duration TIME    stop after 30s, 5m, 1h\n"
    "  --kernel           the kernel alone\n"
    "  --user             user mode alone\n"
    "  -G CGROUP          only what runs in this cgroup, by its path or directory\n"
    "\n"
    "  -e SOURCE[,..]     what interrupts (default time); see: ntprof sources\n"
    "  -F HZ              rate of source time: 997 (default), 5k, 1kHz, max\n"
    "  --interval TIME    instead of -F: 1ms, 250us\n"
    "  -c EVENTS          events for a hit, for the other sources\n"
    "  --bucket BYTES     code bytes for a counter: 4 (default), 8, 16 .. 1M\n"
    "  -C CPUS            only on these processors: 0,2-3\n"
    "  --hal NAME         this way of getting hits, or none: bpf, perf, sim\n"
    "  -o FILE            the profile (default ntprof.pb.gz); the old one becomes "
    "FILE.old\n"
    "  --every TIME       rewrite the file at intervals: 10s, 1m; a crash loses one at "
    "most\n"
    "  --max-memory SIZE  keep to it (default 1G) and say what was left out\n"
    "  --no-lines         names of functions alone: no source lines, nothing inlined\n"
    "  --debuginfod[=URL] get debug files from servers; also if DEBUGINFOD_URLS is "
    "set\n"
    "  --rows N           rows of the table (default 20); 0 for all\n"
    "  --json             JSON instead of the table\n"
    "  --report FILE      table or JSON into FILE, not on standard error; - is "
    "standard output\n"
    "  -q                 no table, only errors\n"
    "\n"
    "Exit status: 0, however it came to the end; 125 if ntprof failed, or may not.\n";

static const char help_report[] =
    "usage: ntprof report [options] [FILE]\n"
    "\n"
    "Examples\n"
    "  ntprof report                            ntprof.pb.gz by function\n"
    "  ntprof report old.pb.gz --by image       where, roughly\n"
    "  ntprof report --rows 0 --csv > all.csv   everything, for a spreadsheet\n"
    "  ntprof report --symbolize -o new.pb.gz p.pb.gz   add names to a profile\n"
    "\n"
    "  --by KEY     function (default), line, image, address, process or source\n"
    "  --rows N     rows to show (default 20); 0 for all\n"
    "  --json       as JSON\n"
    "  --csv        as comma-separated values\n"
    "  --symbolize  look for names and lines that the profile lacks, in files of this "
    "machine\n"
    "  --debuginfod[=URL]   with it: get debug files from servers; also if "
    "DEBUGINFOD_URLS\n"
    "               is set\n"
    "  -o FILE      with it: write the profile with its names\n";

static const char help_sources[] = "usage: ntprof sources [--json]\n"
                                   "\n"
                                   "Lists what can interrupt: name for -e, NT's name, "
                                   "intervals, and whether it works on\n"
                                   "this machine for this user; if not, why.\n";

static const char help_doctor[] =
    "usage: ntprof doctor [--json]\n"
    "\n"
    "Tells what works here for this user, which setting refuses the rest and what "
    "would\n"
    "allow it. Exit status 0 if profiling works at all.\n";

static const char help_help[] = "usage: ntprof help [COMMAND]\n";

static const char help_version[] = "usage: ntprof version\n";

static const struct {
    const char *command;
    const char *text;
} helps[] = {
    {"run", help_run},       {"attach", help_attach},   {"system", help_system},
    {"report", help_report}, {"sources", help_sources}, {"doctor", help_doctor},
    {"help", help_help},     {"version", help_version},
};

bool
cmd_print_help(const char *command)
{
    if (command == NULL) {
        fputs(help_ntprof, stdout);
        return true;
    }
    for (size_t i = 0; i < sizeof(helps) / sizeof(helps[0]); i++) {
        if (strcmp(command, helps[i].command) == 0) {
            fputs(helps[i].text, stdout);
            return true;
        }
    }
    return false;
}

int
cmd_help(int argc, char **argv)
{
    char shown[80];

    if (argc > 2) {
        return cmd_fail("help", "one command at a time");
    }
    if (!cmd_print_help(argc == 2 ? argv[1] : NULL)) {
        return cmd_fail("help", "no command named '%s'",
                        text_show(shown, sizeof(shown), argv[1]));
    }
    return CMD_OK;
}

int
cmd_version(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        return cmd_fail("version", "takes no arguments");
    }
    printf("ntprof %s\n", ntprof_version());
    return CMD_OK;
}

int
cmd_fail(const char *command, const char *format, ...)
{
    va_list arguments;

    fputs("ntprof: ", stderr);
    if (command != NULL) {
        fprintf(stderr, "%s: ", command);
    }
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return CMD_FAILED;
}
