/* SPDX-License-Identifier: MIT */
/* help.c - ntprof help and ntprof version, and error messages of commands. */
#include "base/options.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/cmd.h"

#include <ntprof/ntprof.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * Each text starts with examples, then shows the usage and what the command does, then
 * lists its options, one a line: letter and long name, value, purpose.
 * scripts/check_options.py compares them with the parsers, the manual pages and the
 * completions. Lines have at most 80 columns.
 */
struct help {
    const char *command;
    const char *parts[7]; /* NULL-terminated; several commands share some parts */
};

static const char help_ntprof[] =
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
    "reports every loss. It counts addresses, not call stacks.\n"
    "\n"
    "  run       run a command and profile it and all that it starts\n"
    "  attach    profile processes that run already, from now on\n"
    "  system    profile all processes and the kernel\n"
    "  top       watch where programs execute, on a live screen\n"
    "  agent     record the whole machine for ever, in windows\n"
    "  report    show a profile: by function, line, image, address, process, source\n"
    "  annotate  source lines and instructions with their hits\n"
    "  diff      what changed between two profiles, and what of it is no chance\n"
    "  merge     one profile of many\n"
    "  export    a profile in the form that another tool reads\n"
    "  store     a database of profiles, which is read like a file\n"
    "  serve     a store in the browser: times, hosts and builds to choose from\n"
    "  sources   what can interrupt on this machine, and why the rest cannot\n"
    "  doctor    what works for this user here, what is refused, what would allow it\n"
    "  help      help of a command, or of ntprof: ntprof help run\n"
    "  version   the version; also -v, --version\n"
    "\n"
    "Every command takes --help too. Manuals: man ntprof, man ntprof-run and so on.\n";

/* Options of all commands that record. */
static const char hit_options[] =
    "  -e, --event SOURCE[,..]  what interrupts (default time); see: ntprof sources\n"
    "  -F, --frequency HZ       rate of source time: 997 (default), 5k, 1kHz, max\n"
    "      --interval TIME      instead of -F: 1ms, 250us\n"
    "  -c, --count EVENTS       events for a hit, for the other sources\n"
    "      --bucket BYTES       code bytes for a counter: 1 (default), 2, 4 .. 1M\n"
    "  -C, --cpu CPUS           only on these processors: 0,2-3\n"
    "      --no-guard           keep intervals that leave programs no time\n"
    "      --hal NAME           hits in this way, or none: perf, timer, sim\n";

static const char memory_options[] =
    "      --max-memory SIZE    keep to it (default 1G), say what was left out\n"
    "      --no-lines           only names of functions: no lines, nothing inlined\n";

/* Options of run, attach and system, which print a table and write a file. */
static const char file_options[] =
    "  -o, --output FILE        the profile (default ntprof.pb.gz); an older one\n"
    "                           becomes FILE.old\n"
    "      --per cpu            count each processor separately, which takes more\n"
    "                           memory; see report --by cpu\n"
    "      --every TIME         rewrite the file at intervals: 10s, 1m; a crash\n"
    "                           loses one at most\n"
    "      --delay TIME         count only after this time: 500ms, 10 (seconds)\n"
    "      --max-overhead PERCENT   the rate by what hits may cost: 1, 2.5%\n"
    "      --control FIFO       obey its lines: start, stop, snapshot, interval TIME\n";

static const char table_options[] =
    "      --debuginfod[=URL]   get debug files from servers; also if the variable\n"
    "                           DEBUGINFOD_URLS is set\n"
    "      --by KEY[,..]        what a row of the table is, as for report: function\n"
    "                           (default), line, image, process, source ..\n"
    "      --rows N             rows of the table (default 20); 0 for all\n"
    "      --json               JSON instead of the table; attach and system print it\n"
    "                           on standard output\n"
    "      --report FILE        table or JSON into FILE, not on standard error;\n"
    "                           - is standard output\n"
    "  -q, --quiet              no table, only errors\n";

static const char help_run[] =
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
    "error and writes a profile. SIGUSR2 to ntprof writes what there is so far.\n"
    "\n"
    "      --duration TIME      stop counting after it; the command runs on\n"
    "      --region CODE        only this code, by instruction: FUNCTION[+SIZE],\n"
    "                           IMAGE:FUNCTION[+SIZE] or IMAGE:START-END\n"
    "\n";

static const char end_run[] =
    "\n"
    "Exit status: the command's; 125 if ntprof failed, 126 if the command cannot be\n"
    "run, 127 if it was not found. A command that dies by a signal takes ntprof with\n"
    "it.\n";

static const char help_attach[] =
    "Examples\n"
    "  ntprof attach 1234                          until Ctrl-C or its end\n"
    "  ntprof attach -p 1234,5678 --duration 30s   two of them, half a minute\n"
    "  ntprof attach -p $(pidof -s nginx) --every 1m -o /var/tmp/nginx.pb.gz\n"
    "\n"
    "usage: ntprof attach [options] PID[,PID..] ..\n"
    "\n"
    "Profiles processes that run already, all their threads and what they start from\n"
    "now on, until Ctrl-C, the time, or the end of them all. They are neither\n"
    "stopped nor slowed.\n"
    "\n"
    "  -p, --pid PID[,..]       the processes, also without -p; all or none\n"
    "      --duration TIME      stop after 30s, 5m, 1h\n"
    "      --region CODE        only this code, by instruction: FUNCTION[+SIZE],\n"
    "                           IMAGE:FUNCTION[+SIZE] or IMAGE:START-END\n"
    "\n";

static const char end_attach[] =
    "\n"
    "Exit status: 0, however it came to the end; 125 if ntprof failed, or one of\n"
    "them cannot be profiled.\n";

static const char help_system[] =
    "Examples\n"
    "  ntprof system --duration 30s                   the machine, half a minute\n"
    "  ntprof system --kernel -C 0,1 --duration 10s   the kernel on two processors\n"
    "  ntprof system -G system.slice --duration 1m    only services of systemd\n"
    "  ntprof system --every 1m -o /var/tmp/all.pb.gz   until Ctrl-C\n"
    "\n"
    "usage: ntprof system [options]\n"
    "\n"
    "Profiles every process, those to come too, and the kernel, until Ctrl-C or the\n"
    "time. Needs root or CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less.\n"
    "\n"
    "      --duration TIME      stop after 30s, 5m, 1h\n"
    "      --kernel             only the kernel\n"
    "      --user               only user mode\n"
    "  -G, --cgroup CGROUP      only what runs in it, by its path or directory\n"
    "\n";

static const char help_top[] =
    "Examples\n"
    "  ntprof top                           the machine, live; q quits, ? helps\n"
    "  ntprof top -p $(pidof -s nginx)      a process and all that it starts\n"
    "  ntprof top --kernel -d 500ms         the kernel, twice a second\n"
    "  ntprof top -e time,page-faults       e changes from one to the other\n"
    "  ntprof top sqlite:profiles.db --since 5m    what a store has of many machines\n"
    "\n"
    "usage: ntprof top [-a | -p PID[,PID..]] [options]\n"
    "       ntprof top URL [--since TIME] [options of stores]\n"
    "\n"
    "Shows functions and images with their hits since the last look and since the\n"
    "start; Enter shows source and instructions. All processes need root or\n"
    "CAP_PERFMON; processes of one's own need nothing. It ends with q or Ctrl-C.\n"
    "\n"
    "  -a, --all                all processes and the kernel: what it does without -p\n"
    "  -p, --pid PID[,..]       the processes; all of them or none\n"
    "  -d, --delay TIME         between two looks: 2s (default), 500ms, 1; at a store\n"
    "                           10s\n"
    "      --duration TIME      quit after 30s, 5m, 1h\n"
    "      --kernel             only the kernel\n"
    "      --user               only user mode\n"
    "  -G, --cgroup CGROUP      only what runs in it, by its path or directory\n"
    "\n";

static const char file_options_top[] =
    "  -o, --output FILE        what w writes (default ntprof.pb.gz); an older one\n"
    "                           becomes FILE.old\n";

/* End of the help of system and top. */
static const char end_all[] =
    "\n"
    "Exit status: 0, however it came to the end; 125 if ntprof failed, or may not.\n";

static const char help_agent[] =
    "Examples\n"
    "  ntprof agent                             windows of a minute, in the spool\n"
    "  ntprof agent --store sqlite:/var/lib/ntprof/profiles.db --label site=north\n"
    "  ntprof agent --config my.conf --check-config\n"
    "  ntprof agent --listen 127.0.0.1:6070     and in another shell:\n"
    "  go tool pprof -top 'http://127.0.0.1:6070/debug/pprof/profile?seconds=5'\n"
    "\n"
    "usage: ntprof agent [options]\n"
    "\n"
    "Records all processes and the kernel at a low rate until SIGTERM, in constant\n"
    "memory. Each window is a profile with the unit of each process. Windows wait in\n"
    "the spool until the store has them. SIGHUP reads the settings again. Needs root\n"
    "or CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less.\n"
    "\n"
    "      --config FILE        lines of the form name = value, for these options\n"
    "                           (default /etc/ntprof/agent.conf, if it exists)\n"
    "      --check-config       check the options and the file, and end\n"
    "      --window TIME        length of a window: 1s .. 1h (default 1m)\n"
    "      --store URL          add windows to this store: sqlite:PATH\n"
    "      --spool DIR          where windows wait (default /var/lib/ntprof/spool)\n"
    "      --spool-size SIZE    drop the oldest above it (default 256M)\n"
    "      --spool-age TIME     drop those that are older: 12h, 7d (default)\n"
    "      --host NAME          label of all windows (default: this machine)\n"
    "      --label KEY=VALUE    one more; repeatable\n"
    "      --max-cpu PERCENT    lengthen the interval when the agent takes more of a\n"
    "                           processor (default 1%)\n"
    "      --listen [ADDR:]PORT   answer /debug/pprof/profile?seconds=N, /metrics and\n"
    "                           /healthz by HTTP, without ADDR on 127.0.0.1\n"
    "  -e, --event SOURCE[,..]  what interrupts (default time); see: ntprof sources\n"
    "  -F, --frequency HZ       rate of source time (default 99)\n"
    "      --interval TIME      instead of -F: 1ms, 10ms\n"
    "  -c, --count EVENTS       events for a hit, for the other sources\n"
    "      --bucket BYTES       code bytes for a counter (default 16)\n"
    "  -C, --cpu CPUS           only on these processors: 0,2-3\n"
    "  -G, --cgroup CGROUP      only what runs in it, by its path or directory\n"
    "      --kernel             only the kernel\n"
    "      --user               only user mode\n"
    "      --hal NAME           this way of getting hits, or none: perf, sim\n"
    "      --max-memory SIZE    keep to it (default 128M), say what was left out\n"
    "      --no-lines           only names of functions: no lines, nothing inlined\n";

static const char help_report[] =
    "Examples\n"
    "  ntprof report                            ntprof.pb.gz by function\n"
    "  ntprof report old.pb.gz --by image       where, roughly\n"
    "  ntprof report --by process,function --image 'libc.so*'   whose hits there\n"
    "  ntprof report --rows 0 --csv > all.csv   everything, for a spreadsheet\n"
    "  ntprof report --symbolize -o new.pb.gz p.pb.gz   add names to a profile\n"
    "\n"
    "usage: ntprof report [options] [FILE]\n"
    "\n"
    "      --by KEY[,KEY..]    what a row is: function (default), line, image,\n"
    "                          address, bucket, process, thread, cpu, unit, source;\n"
    "                          or several\n"
    "  -e, --event SOURCE      only hits of this source\n"
    "      --image GLOB        only images whose path or file name matches, or whose\n"
    "                          build-id starts so; repeatable, as are the next two\n"
    "      --process GLOB      only processes whose name matches\n"
    "      --symbol GLOB       only functions whose name matches\n"
    "      --rows N            rows to show (default 20); 0 for all\n"
    "      --json              as JSON\n"
    "      --csv               as comma-separated values\n"
    "      --symbolize         look for names and lines that the profile lacks, in\n"
    "                          files of this machine\n"
    "      --debuginfod[=URL]  with it: get debug files from servers; also if the\n"
    "                          variable DEBUGINFOD_URLS is set\n"
    "  -o, --output FILE       with it: write the profile with its names\n";

static const char help_diff[] =
    "Examples\n"
    "  ntprof diff                          ntprof.pb.gz.old against ntprof.pb.gz\n"
    "  ntprof diff old.pb.gz new.pb.gz --by line    which lines changed\n"
    "  ntprof diff old.pb.gz new.pb.gz --normalize  shares: runs of unequal length\n"
    "  ntprof diff old.pb.gz new.pb.gz --fail-above 5 >/dev/null || echo slower\n"
    "\n"
    "usage: ntprof diff [options] [[OLD] NEW]\n"
    "\n"
    "Shows what changed, in time or events, and leaves out what chance explains: all\n"
    "rows together show a change where there is none in one of 20 differences at\n"
    "most. OLD is NEW.old, and NEW is ntprof.pb.gz, if they are not named.\n"
    "\n"
    "      --normalize         compare shares of all hits\n"
    "      --all               show rows that chance explains, too\n"
    "      --fail-above PERCENT   exit status 1 if a row grew, beyond chance, by more\n"
    "                          than that of all that OLD has\n"
    "      --by KEY[,..]       what a row is: function (default), line, image,\n"
    "                          address, bucket, process, thread, cpu, unit\n"
    "  -e, --event SOURCE      compare only this source\n"
    "      --image GLOB        only rows of images called so; GLOB may hold * and ?\n"
    "      --process GLOB      only rows of processes called so\n"
    "      --symbol GLOB       only rows of functions called so\n"
    "      --rows N            rows to show (default 20); 0 for all\n"
    "      --json              as JSON\n"
    "      --csv               as comma-separated values\n"
    "\n"
    "Exit status: 0; 1 with --fail-above if that happened; 125 if ntprof failed.\n";

static const char help_annotate[] =
    "Examples\n"
    "  ntprof annotate                          what has the most hits\n"
    "  ntprof annotate count_primes             a function: instructions and source\n"
    "  ntprof annotate --source parse.c:120     the lines around one\n"
    "  ntprof annotate libz.so.1+0x2f40 p.pb.gz   the code around an offset\n"
    "  ntprof annotate memcpy --image 'libc.so*'   where several have the name\n"
    "\n"
    "usage: ntprof annotate [options] [SYMBOL|FILE:LINE|IMAGE+OFFSET] [FILE]\n"
    "\n"
    "Hits of instructions that share a bucket stand in a bracket: they are of all of\n"
    "them together.\n"
    "\n"
    "      --source            only source lines\n"
    "      --asm               instructions, also for a line\n"
    "      --image GLOB        only images whose path or file name matches, or whose\n"
    "                          build-id starts so\n"
    "      --image-dir DIR     look for programs and libraries in DIR first\n"
    "      --source-dir OLD=NEW   sources compiled in OLD are in NEW; repeatable; NEW\n"
    "                          alone is for paths that have no OLD\n"
    "      --rows N            only the N lines with the most hits, and context; 0\n"
    "                          for all (default)\n"
    "      --context N         lines around those with hits (default 5), or all\n"
    "      --bytes             of instructions, too\n"
    "      --objdump[=PROGRAM]   have binutils' objdump disassemble\n"
    "  -M, --disassembler-style STYLE   att (default) or intel\n"
    "  -e, --event SOURCE      only hits of this source\n"
    "      --json              as JSON\n"
    "      --debuginfod[=URL]  get debug files from servers; also if the variable\n"
    "                          DEBUGINFOD_URLS is set\n";

static const char help_merge[] =
    "Examples\n"
    "  ntprof merge -o week.pb.gz mon.pb.gz tue.pb.gz    a longer run of two\n"
    "  ntprof merge -o all.pb.gz host-*/ntprof.pb.gz     one of many machines\n"
    "  ntprof merge -o sum.pb.gz sum.pb.gz new.pb.gz     add to what there is\n"
    "\n"
    "usage: ntprof merge -o OUT [-q] FILE...\n"
    "\n"
    "Adds profiles up, hit by hit, with their statistics. Images are one "
    "where\n"
    "they are the same build. Refuses what does not add up: other intervals of a\n"
    "source, other buckets.\n"
    "\n"
    "  -o, --output OUT        the sum; may be one of the files; the old one becomes\n"
    "                          OUT.old; - is standard output\n"
    "  -q, --quiet             say nothing but errors\n";

/* Of all commands that read profiles. */
static const char store_options[] =
    "\n"
    "Of a store, named by its URL (ntprof help store):\n"
    "      --since TIME        windows that end after it: 1h (ago), 2026-11-23T10:30\n"
    "      --until TIME        windows that start before it\n"
    "      --host GLOB         windows of hosts called so\n"
    "      --unit GLOB         rows of systemd units, containers or cgroups called so\n"
    "      --label KEY=VALUE   windows with this label; repeatable\n"
    "      --build-id PREFIX   rows of images whose build-id starts so\n";

static const char help_store[] =
    "Examples\n"
    "  ntprof store init sqlite:profiles.db\n"
    "  ntprof store add sqlite:profiles.db host-*/ntprof.pb.gz\n"
    "  ntprof report 'sqlite:profiles.db?since=1d&host=web*'     the sum of a day\n"
    "  ntprof store prune sqlite:profiles.db --before 30d\n"
    "\n"
    "usage: ntprof store init|stat|check|fold|symbolize URL\n"
    "       ntprof store add URL FILE...\n"
    "       ntprof store prune URL [--before TIME] [--max-size SIZE]\n"
    "\n"
    "Keeps profiles in a database, which report, top, annotate, diff, merge, export\n"
    "read in the place of a file: sqlite:PATH or clickhouse://USER@HOST:PORT/DATABASE\n"
    "(clickhouses: with TLS), behind it since, until, host, unit, label, source,\n"
    "interval, image and build. Adding a file again changes nothing.\n"
    "\n"
    "      --host NAME         add: where it was recorded (default: this machine)\n"
    "      --label KEY=VALUE   add: a label of the windows; repeatable\n"
    "      --before TIME       prune: remove what ended before it: 30d, 2026-11-23\n"
    "      --max-size SIZE     prune: remove the oldest until the store is as small\n"
    "      --cluster NAME      init: on all servers of a cluster of ClickHouse\n"
    "      --debuginfod[=URL]  symbolize: get debug files from servers\n"
    "      --json              stat: as JSON\n";

static const char help_serve[] =
    "Examples\n"
    "  ntprof serve sqlite:/var/lib/ntprof/profiles.db   then http://127.0.0.1:6071/\n"
    "  ntprof serve 'clickhouse://db/ntprof?password-file=/etc/ntprof/password'\n"
    "\n"
    "usage: ntprof serve [options] URL\n"
    "\n"
    "Shows a store to browsers until Ctrl-C: the page of ntprof export --format html\n"
    "with a time, hosts, units and builds to choose, hits over time to drag a range\n"
    "on, and what changed between two selections. The store is only read; what the\n"
    "URL selects holds for every page. Whoever can connect can read all of it.\n"
    "\n"
    "      --listen [ADDR:]PORT   where it listens (default 127.0.0.1:6071)\n"
    "      --listings N        put the code of so many functions into a page, from\n"
    "                          programs and sources here (default none)\n"
    "      --image-dir DIR     copies of programs and libraries lie there\n"
    "      --source-dir [OLD=]NEW   sources compiled in OLD are in NEW; repeatable\n";

static const char help_export[] =
    "Examples\n"
    "  ntprof export --format folded | flamegraph.pl > p.svg   a flame graph\n"
    "  ntprof export --format callgrind -o p.callgrind       for callgrind_annotate\n"
    "  ntprof export --format gmon --image ./app -o gmon.out   for gprof -p -b ./app\n"
    "  ntprof export --format html -o p.html    a page for a browser, code and all\n"
    "  ntprof export --format llvm-sample --image app -o p.prof\n"
    "                                     for clang -fprofile-sample-use=p.prof\n"
    "  ntprof export --format json old.pb.gz | jq .rows        all, for programs\n"
    "\n"
    "usage: ntprof export --format FORMAT [options] [FILE]\n"
    "\n"
    "Writes a profile (default ntprof.pb.gz) in the form that another tool reads.\n"
    "The hits add up to those of the profile, exactly.\n"
    "\n"
    "      --format FORMAT     pprof, gmon, callgrind, speedscope, folded, json,\n"
    "                          csv, html, openmetrics; for compilers and linkers\n"
    "                          llvm-profgen, llvm-sample, gcc-afdo, bolt, bolt-fdata,\n"
    "                          symbol-order\n"
    "  -o, --output OUT        into this file, whole or not at all; else on standard\n"
    "                          output\n"
    "  -e, --event SOURCE      gmon, folded, for compilers: the one source that they\n"
    "                          hold (default the first)\n"
    "      --image GLOB        gmon, for compilers: the one image that they hold: its\n"
    "                          path or file name matches, or its build-id starts so\n"
    "      --rows N            openmetrics: functions of each source with a series of\n"
    "                          their own (default 100); 0 for all\n"
    "      --listings N        html: functions whose code is put in (default 50);\n"
    "                          0 for none\n"
    "      --image-dir DIR     html, for compilers: look for programs and libraries\n"
    "                          in DIR first\n"
    "      --source-dir OLD=NEW   html: sources compiled in OLD are in NEW;\n"
    "                          repeatable; NEW alone is for paths that have no OLD\n";

static const char help_sources[] =
    "Examples\n"
    "  ntprof sources                  what can interrupt here\n"
    "  ntprof sources --json           the same for programs\n"
    "\n"
    "usage: ntprof sources [--json]\n"
    "\n"
    "Lists what can interrupt: name for -e, NT's name, intervals, and whether it\n"
    "works on this machine for this user; if not, why.\n"
    "\n"
    "      --json              as JSON\n";

static const char help_doctor[] =
    "Examples\n"
    "  ntprof doctor                   what works here, what would allow the rest\n"
    "  ntprof doctor --json            the same for programs\n"
    "\n"
    "usage: ntprof doctor [--json]\n"
    "\n"
    "Tells what works here for this user, which setting refuses the rest and what\n"
    "would allow it. Exit status 0 if profiling works at all.\n"
    "\n"
    "      --json              as JSON\n";

static const char help_help[] = "Examples\n"
                                "  ntprof help            what there is\n"
                                "  ntprof help run        options of a command\n"
                                "\n"
                                "usage: ntprof help [COMMAND]\n";

static const char help_version[] = "Examples\n"
                                   "  ntprof version         such as: ntprof 0.1.0\n"
                                   "\n"
                                   "usage: ntprof version\n";

static const struct help helps[] = {
    {"run",
     {help_run, hit_options, file_options, memory_options, table_options, end_run}},
    {"attach",
     {help_attach, hit_options, file_options, memory_options, table_options,
      end_attach}},
    {"system",
     {help_system, hit_options, file_options, memory_options, table_options, end_all}},
    {"top",
     {help_top, hit_options, file_options_top, memory_options, store_options, end_all}},
    {"agent", {help_agent, end_all}},
    {"report", {help_report, store_options}},
    {"diff", {help_diff, store_options}},
    {"annotate", {help_annotate, store_options}},
    {"merge", {help_merge, store_options}},
    {"export", {help_export, store_options}},
    {"store", {help_store}},
    {"serve", {help_serve, end_all}},
    {"sources", {help_sources}},
    {"doctor", {help_doctor}},
    {"help", {help_help}},
    {"version", {help_version}},
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
            for (const char *const *part = helps[i].parts; *part != NULL; part++) {
                fputs(*part, stdout);
            }
            return true;
        }
    }
    return false;
}

static const struct option HELP_ALONE[] = {OPTION_HELP_ROW, {0}};

int
cmd_help(int argc, char **argv)
{
    static const struct options_syntax syntax = {.command = "help",
                                                 .known = HELP_ALONE,
                                                 .words_max = 1,
                                                 .words_too_many =
                                                     "one command at a time"};
    struct options_words words;
    int exit_status;

    if (!options_take(&syntax, argc, argv, NULL, &words, &exit_status)) {
        return exit_status;
    }
    if (!cmd_print_help(words.count > 0 ? words.list[0] : NULL)) {
        cmd_refuse("help", words.list[0], "no such command; see: ntprof help");
        return CMD_FAILED;
    }
    return CMD_OK;
}

int
cmd_version(int argc, char **argv)
{
    static const struct options_syntax syntax = {.command = "version",
                                                 .known = HELP_ALONE};
    struct options_words words;
    int exit_status;

    if (!options_take(&syntax, argc, argv, NULL, &words, &exit_status)) {
        return exit_status;
    }
    printf("ntprof %s\n", ntprof_version());
    return CMD_OK;
}

int
cmd_fail(const char *command, const char *format, ...)
{
    va_list arguments;

    progress_end();
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
