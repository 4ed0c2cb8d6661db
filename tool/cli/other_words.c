/* SPDX-License-Identifier: MIT */
/* other_words.c - tables of the words of other tools. */
#include "cli/other_words.h"

#include "cli/cmd.h"

#include <stdbool.h>
#include <string.h>

const struct suggest_word command_words[] = {
    {"start", "run"},          {"exec", "run"},
    {"launch", "run"},         {"profile", "run"},
    {"trace", "run"},          {"pid", "attach"},
    {"follow", "attach"},      {"machine", "system"},
    {"system-wide", "system"}, {"live", "top"},
    {"watch", "top"},          {"show", "report"},
    {"view", "report"},        {"print", "report"},
    {"list", "sources"},       {"events", "sources"},
    {"disas", "annotate"},     {"disassemble", "annotate"},
    {"source", "annotate"},    {"compare", "diff"},
    {"add", "merge"},          {"sum", "merge"},
    {"combine", "merge"},      {"convert", "export"},
    {"flamegraph", "export"},  {"collapse", "export"},
    {"web", "serve"},          {"http", "serve"},
    {"ui", "serve"},           {"server", "serve"},
    {"check", "doctor"},       {"database", "store"},
    {"daemon", "agent"},       {0},
};

struct advice {
    const char *command; /* of ours; NULL: any */
    const char *word;
    const char *instead;
};

#define RUN_INSTEAD                                                                  \
    "to profile a command: ntprof run -- COMMAND, what runs already: ntprof attach " \
    "PID, the machine: ntprof system"
#define ONLY_HITS "ntprof counts hits of sources and records no single events"
#define COUNT_INSTEAD                                                    \
    "to count events of a command: ntprof run -e SOURCE --by source -- " \
    "COMMAND; ntprof sources lists what can be counted"

static const struct advice commands[] = {
    {NULL, "record", RUN_INSTEAD "; with callers: ntprof run -g -- COMMAND"},
    {NULL, "stat", COUNT_INSTEAD},
    {NULL, "script",
     "the rows of a profile for other tools: ntprof export --format folded, or "
     "ntprof report --csv --rows 0"},
    {NULL, "list", "the sources that work here: ntprof sources"},
    {NULL, "evlist", "the sources of a profile: ntprof report --by source"},
    {NULL, "probe",
     "executions of a function or an instruction: ntprof run -e function:NAME -- "
     "COMMAND, or as root -e uprobe:IMAGE+0xOFFSET"},
    {NULL, "trace", ONLY_HITS "; for system calls: strace or perf trace"},
    {NULL, "ftrace", ONLY_HITS "; for the kernel's functions: ntprof system --kernel"},
    {NULL, "bench", "ntprof has no benchmarks; " RUN_INSTEAD},
    {NULL, "mem",
     ONLY_HITS "; misses of caches by place: ntprof run -e cache-misses -- COMMAND"},
    {NULL, "c2c",
     ONLY_HITS "; misses of caches by place: ntprof run -e cache-misses -- COMMAND"},
    {NULL, "lock", ONLY_HITS "; where time goes: ntprof run -- COMMAND"},
    {NULL, "sched",
     ONLY_HITS "; where threads switch: ntprof run -e context-switches -- COMMAND"},
    {NULL, "timechart", ONLY_HITS "; hits over time: ntprof serve URL of a store"},
    {NULL, "kwork", ONLY_HITS "; where the kernel spends time: ntprof system --kernel"},
    {NULL, "kmem", ONLY_HITS "; where the kernel spends time: ntprof system --kernel"},
    {NULL, "kvm", ONLY_HITS "; where the kernel spends time: ntprof system --kernel"},
    {NULL, "iostat", ONLY_HITS "; what is profiled: ntprof sources"},
    {NULL, "archive",
     "nothing has to be collected: names are in the profile; what lacks some: ntprof "
     "report --symbolize -o NEW FILE"},
    {NULL, "inject",
     "nothing has to be added: names are in the profile; what lacks some: ntprof "
     "report --symbolize -o NEW FILE"},
    {NULL, "buildid-list",
     "the build-ids of a profile: ntprof report --by image --csv"},
    {NULL, "buildid-cache",
     "names are in the profile; unpacked debug sections are kept: ntprof cache"},
    {NULL, "config", "there is no file of settings; what works here: ntprof doctor"},
    {NULL, "data",
     "profiles are pprof files; for other tools: ntprof export --format FORMAT FILE"},
    {NULL, "test", "what works here: ntprof doctor"},
};

static const struct advice options[] = {
    {NULL, "-g",
     "callers are recorded by: ntprof run -g, attach -g, system -g, top -g"},
    {NULL, "--call-graph",
     "callers are recorded by: ntprof run -g, attach -g, system -g, top -g"},
    {"report", "--children", "profiles of -g have totals anyway: leave it out"},
    {"report", "--no-children", "there are no callers to add up: leave it out"},
    {"report", "-G", "callers first: ntprof report --tree=up FILE"},
    {"report", "--inverted", "callers first: ntprof report --tree=up FILE"},
    {"report", "-i", "the file is a word: ntprof report FILE"},
    {"report", "--input", "the file is a word: ntprof report FILE"},
    {"annotate", "-i", "the file is the last word: ntprof annotate NAME FILE"},
    {"annotate", "--input", "the file is the last word: ntprof annotate NAME FILE"},
    {"diff", "-i", "the files are words: ntprof diff OLD NEW"},
    {"diff", "--input", "the files are words: ntprof diff OLD NEW"},
    {"export", "-i", "the file is a word: ntprof export --format FORMAT FILE"},
    {"export", "--input", "the file is a word: ntprof export --format FORMAT FILE"},
    {"export", "-f", "the form is --format, as in: ntprof export --format folded FILE"},
    {"merge", "-i", "the files are words: ntprof merge -o OUT FILE..."},
    {"merge", "--input", "the files are words: ntprof merge -o OUT FILE..."},
    {NULL, "-s", "what a row is: --by process,image,function"},
    {NULL, "--sort", "what a row is: --by process,image,function"},
    {NULL, "--fields", "what a row is: --by process,image,function"},
    {NULL, "--dsos", "only some images: --image GLOB"},
    {NULL, "--dso", "only some images: --image GLOB"},
    {NULL, "--comms", "only some processes: --process GLOB"},
    {NULL, "--comm", "only some processes: --process GLOB"},
    {NULL, "--symbols", "only some functions: --symbol GLOB"},
    {NULL, "-S", "only some functions: --symbol GLOB"},
    {NULL, "--stdio", "a table is printed anyway: leave it out"},
    {NULL, "--tui", "a table is printed; one that moves: ntprof top"},
    {NULL, "--gtk", "a page for a browser: ntprof export --format html -o FILE"},
    {NULL, "--percent-limit", "fewer rows: --rows N"},
    {NULL, "--full-source-path", "paths are whole: leave it out"},
    {NULL, "-n", "fewer rows: --rows N; hits are shown anyway"},
    {"run", "-p", "what runs already: ntprof attach -p PID, or ntprof top -p PID"},
    {"run", "--pid", "what runs already: ntprof attach -p PID, or ntprof top -p PID"},
    {"run", "-a", "the whole machine: ntprof system"},
    {"run", "--all-cpus", "the whole machine: ntprof system"},
    {"attach", "-a", "the whole machine: ntprof system"},
    {"attach", "--all-cpus", "the whole machine: ntprof system"},
    {"system", "-a", "it is the whole machine anyway: leave it out"},
    {"system", "--all-cpus", "it is the whole machine anyway: leave it out"},
    {NULL, "-t", "threads cannot be chosen; a process: ntprof attach -p PID"},
    {NULL, "--tid", "threads cannot be chosen; a process: ntprof attach -p PID"},
    {NULL, "-u", "users cannot be chosen; a process: ntprof attach -p PID"},
    {NULL, "--uid", "users cannot be chosen; a process: ntprof attach -p PID"},
    {NULL, "-m", "memory for hits: --max-memory SIZE"},
    {NULL, "--mmap-pages", "memory for hits: --max-memory SIZE"},
    {NULL, "--no-inherit", "children are followed; ntprof attach follows one process"},
    {NULL, "--timeout", "an end after some time: --duration TIME"},
};

/* Return what to type instead of a word, whose value behind "=" does not count; NULL if
 * the list does not have it. command: NULL for rows of all commands only. */
static const char *
find_advice(const struct advice *list, size_t count, const char *command,
            const char *word)
{
    const size_t length = strcspn(word, "=");

    for (size_t i = 0; i < count; i++) {
        if ((list[i].command == NULL ||
             (command != NULL && strcmp(list[i].command, command) == 0)) &&
            strlen(list[i].word) == length &&
            strncmp(word, list[i].word, length) == 0) {
            return list[i].instead;
        }
    }
    return NULL;
}

const char *
other_command(const char *word)
{
    return find_advice(commands, sizeof(commands) / sizeof(commands[0]),
                       /* command */ NULL, word);
}

const char *
other_option(const char *command, const char *word)
{
    return find_advice(options, sizeof(options) / sizeof(options[0]), command, word);
}
