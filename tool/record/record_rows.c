/* SPDX-License-Identifier: MIT */
/* record_rows.c - the options of recordings, and the parsing of their values. What
 * depends on several of them is checked in record_options.c. */
#include "record/record_rows.h"
#include "base/message.h"
#include "base/number.h"
#include "record/cgroup.h"
#include "record/keys_option.h"
#include "record/record_cpus.h"
#include "record/record_options.h"
#include "record/record_pids.h"
#include "stacks/contexts.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t every_min_ns = 100000000;
static const struct options_times refresh_times = {
    100000000, UINT64_C(86400) * 1000000000,
    "not a time of 100ms to a day; such as 2s, 500ms or 1"};
static const struct options_times durations = {
    1, UINT64_MAX, "not a time above 0; such as 30s, 5m or 10"};
static const struct options_times start_delays = {
    1, UINT64_MAX, "not a time above 0; such as 500ms, 2s or 10"};
static const double overhead_min_percent = 0.01;
static const double overhead_max_percent = 50;
static const uint64_t bucket_bytes_max = 1 << 20;
static const uint64_t memory_min = 256 << 10;
static const uint64_t stack_bytes_max = 65528; /* that a record of Linux can have */
static const uint64_t contexts_max = 16 << 20;

/* --- values --- */

bool
record_take_duration(void *into, const struct options_given *given)
{
    return options_time(given, &durations, into);
}

bool
record_take_refresh(void *into, const struct options_given *given)
{
    return options_time(given, &refresh_times, into);
}

static bool
take_start_delay(void *into, const struct options_given *given)
{
    return options_time(given, &start_delays, into);
}

static bool
take_every(void *into, const struct options_given *given)
{
    uint64_t *const every_ns = into;

    return (number_parse_ns(given->value, every_ns) && *every_ns >= every_min_ns) ||
           options_refuse(given, "not a time of 100ms or more; such as 10s or 1m");
}

static bool
take_overhead(void *into, const struct options_given *given)
{
    double *const percent = into;

    return (options_percent(given->value, percent) &&
            *percent >= overhead_min_percent && *percent <= overhead_max_percent) ||
           options_refuse(given, "not a percentage from 0.01 to 50; such as 1 or 2.5%");
}

static bool
take_bucket(void *into, const struct options_given *given)
{
    uint64_t bytes;

    if (!number_parse_bytes(given->value, &bytes) || bytes < 1 ||
        bytes > bucket_bytes_max || (bytes & (bytes - 1)) != 0) {
        return options_refuse(given, "must be a power of two from 1 to 1M");
    }
    *(uint32_t *)into = (uint32_t)bytes;
    return true;
}

static bool
take_memory(void *into, const struct options_given *given)
{
    uint64_t *const bytes = into;

    return (number_parse_bytes(given->value, bytes) && *bytes >= memory_min) ||
           options_refuse(given, "not a size of 256K or more; such as 256M or 2G");
}

static bool
take_stack_bytes(void *into, const struct options_given *given)
{
    uint64_t bytes;

    if (!number_parse_bytes(given->value, &bytes) || bytes < NTPROF_STACK_BYTES_MIN ||
        bytes > stack_bytes_max) {
        return options_refuse(given, "must be 512 to 65528; such as 4k, 16k or 32k");
    }
    *(uint32_t *)into = (uint32_t)bytes;
    return true;
}

static bool
take_contexts(void *into, const struct options_given *given)
{
    uint64_t count;

    if (!number_parse_count(given->value, &count) || count < STACK_CONTEXTS_MIN ||
        count > contexts_max) {
        return options_refuse(given, "must be 64 to 16M; such as 4096 or 1M");
    }
    *(size_t *)into = (size_t)count;
    return true;
}

static bool
take_per(void *into, const struct options_given *given)
{
    *(bool *)into = true;
    return strcmp(given->value, "cpu") == 0 ||
           options_refuse(given, "allowed is cpu: hits of each processor on their own");
}

static bool
take_cgroup(void *into, const struct options_given *given)
{
    char **const cgroup = into;
    char error[400];

    free(*cgroup);
    *cgroup = NULL;
    if (given->value[0] == '\0') {
        return options_refuse(given,
                              "must be a path, such as system.slice; / is the root");
    }
    *cgroup = cgroup_find(given->value, error, sizeof(error));
    return *cgroup != NULL || options_refuse(given, error);
}

static bool
take_sources(void *into, const struct options_given *given)
{
    const char **const sources = into;

    if (*sources != NULL) {
        return options_refuse(
            given, "a second -e; name all with commas, as in -e time,page-faults");
    }
    *sources = given->value;
    return true;
}

static bool
take_cpus(void *into, const struct options_given *given)
{
    return record_cpus_parse(into, given->value);
}

static bool
take_pids(void *into, const struct options_given *given)
{
    return record_pids_parse(into, given->value);
}

/* --- back ends --- */

/* List the back ends that can watch processes, each after a blank. */
static void
list_hals(char *list, size_t room)
{
    ntprof_backend_info info = {.size = sizeof(info)};
    size_t length = 0;

    list[0] = '\0';
    for (uint32_t i = 0; NT_SUCCESS(ntprof_backend_next(i, &info)); i++) {
        if (info.watches != 0 && length + 1 + strlen(info.name) < room) {
            length += (size_t)sprintf(list + length, " %s", info.name);
        }
    }
}

/* Whether a back end has this name and watches processes. If not, *what says why. */
static bool
is_hal(const char *text, const char **what)
{
    ntprof_backend_info name = {.size = offsetof(ntprof_backend_info, usable)};
    ntprof_backend_info info = {.size = sizeof(info)};

    *what = "no such HAL";
    for (uint32_t i = 0; NT_SUCCESS(ntprof_backend_next(i, &name)); i++) {
        if (strcmp(name.name, text) != 0) {
            continue; /* not probed, since that takes time */
        }
        if (NT_SUCCESS(ntprof_backend_next(i, &info)) && info.watches != 0) {
            return true;
        }
        *what = "it counts profile objects of programs and watches no process";
    }
    return false;
}

static bool
take_hal(void *into, const struct options_given *given)
{
    struct record_options *const options = into;
    const bool program = options->syntax->options->program;
    const char *what;
    char allowed[128];
    char why[256];

    options->hal = given->value;
    if (strcmp(given->value, "timer") == 0) {
        return program ||
               options_refuse(given,
                              "timers count only in programs that ntprof run starts");
    }
    if (is_hal(given->value, &what)) {
        return true;
    }
    list_hals(allowed, sizeof(allowed));
    snprintf(why, sizeof(why), "%s; there are%s%s", what, allowed,
             program ? " timer" : "");
    return options_refuse(given, why);
}

/* --- the rows --- */

#define INTO(take, member) OPTIONS_INTO(take, struct record_options, member)
#define FLAG(member) OPTIONS_FLAG(struct record_options, member)
#define TEXT(member) OPTIONS_TEXT(struct record_options, member)

const struct options_row record_duration_rows[] = {
    {"duration", 0, "TIME", "stop after 30s, 5m, 1h", "10s 30s 1m 5m 1h",
     INTO(record_take_duration, duration_ns)},
    {0},
};

const struct options_row record_region_rows[] = {
    {"region", 0, "CODE",
     "only this code, by instruction: FUNCTION[+SIZE], IMAGE:FUNCTION[+SIZE] or "
     "IMAGE:START-END",
     "<file>", TEXT(region)},
    {0},
};

const struct options_row record_pid_rows[] = {
    {"pid", 'p', "PID[,..]|NAME",
     "the processes, also without -p: by number all or none; by name or glob all that "
     "may be profiled",
     ",<pid>", OPTIONS_CALL(take_pids)},
    {"children", 0, NULL, "their children too that run already, and theirs", NULL,
     FLAG(children)},
    {0},
};

const struct options_row record_machine_rows[] = {
    {"kernel", 0, NULL, "only the kernel", NULL, FLAG(kernel_only)},
    {"user", 0, NULL, "only user mode", NULL, FLAG(user_only)},
    {"cgroup", 'G', "CGROUP", "only what runs in it, by its path or directory",
     "<cgroup>", INTO(take_cgroup, cgroup)},
    {0},
};

const struct options_row record_hit_rows[] = {
    {.help = ""},
    {"event", 'e', "SOURCE[,..]", "what interrupts (default time); see: ntprof sources",
     ",<source>", INTO(take_sources, given.sources)},
    {"frequency", 'F', "HZ", "rate of source time: 997 (default), 5k, 1kHz, max",
     "997 5k max", TEXT(given.frequency)},
    {"interval", 0, "TIME", "instead of -F: 1ms, 250us", "100us 250us 1ms 10ms",
     TEXT(given.interval)},
    {"count", 'c', "EVENTS", "events for a hit, for the other sources", NULL,
     TEXT(given.events)},
    {"bucket", 0, "BYTES", "code bytes for a counter: 1 (default), 2, 4 .. 1M",
     "1 4 8 16 32 64 256 4k 1M", INTO(take_bucket, bucket_bytes)},
    {"cpu", 'C', "CPUS", "only on these processors: 0,2-3", ",<cpu>",
     OPTIONS_CALL(take_cpus)},
    {"no-guard", 0, NULL, "keep intervals that leave programs no time", NULL,
     FLAG(no_guard)},
    {"hal", 0, "NAME", "hits in this way, or none: perf, timer, sim", "perf timer sim",
     OPTIONS_CALL(take_hal)},
    {0},
};

const struct options_row record_file_rows[] = {
    {"output", 'o', "FILE",
     "the profile (default ntprof.pb.gz); an older one becomes FILE.old", "<file>",
     TEXT(output)},
    {"per", 0, "cpu",
     "count each processor separately, which takes more memory; see report --by cpu",
     "cpu", INTO(take_per, per_cpu)},
    {"threads", 0, NULL,
     "distinguish processes and threads of one name, which takes more memory; see "
     "report --by pid, thread",
     NULL, FLAG(threads)},
    {"every", 0, "TIME",
     "rewrite the file at intervals: 10s, 1m; a crash loses one at most", "10s 1m 5m",
     INTO(take_every, every_ns)},
    {"delay", 0, "TIME", "count only after this time: 500ms, 10 (seconds)",
     "500ms 1s 10s 1m", INTO(take_start_delay, start_delay_ns)},
    {"max-overhead", 0, "PERCENT", "the rate by what hits may cost: 1, 2.5%", "0.1 1 5",
     INTO(take_overhead, overhead_percent)},
    {"control", 0, "FIFO", "obey its lines: start, stop, snapshot, interval TIME",
     "<file>", TEXT(control)},
    {0},
};

const struct options_row record_stack_rows[] = {
    {"stacks", 'g', NULL,
     "who called the code that is hit, also without frame pointers; of source time",
     NULL, FLAG(stacks)},
    {"stack-bytes", 0, "SIZE",
     "with -g: copy so much of a stack (default 16k); what is beyond has no callers",
     "1k 4k 16k 32k", INTO(take_stack_bytes, stack_bytes)},
    {"contexts", 0, "N",
     "with -g: so many places with different callers (default 262144); the rarest give "
     "their callers up",
     "4096 262144 1M", INTO(take_contexts, contexts)},
    {0},
};

const struct options_row record_memory_rows[] = {
    {"max-memory", 0, "SIZE", "keep to it (default 1G), say what was left out",
     "256M 1G 4G", INTO(take_memory, memory_max)},
    {"no-lines", 0, NULL, "only names of functions: no lines, nothing inlined", NULL,
     FLAG(names.no_lines)},
    {"no-cache", 0, NULL, "unpack debug sections anew, and keep none for later", NULL,
     FLAG(names.no_cache)},
    {0},
};

const struct options_row record_table_rows[] = {
    {"debuginfod", 0, "[=URL]",
     "get debug files from servers; also if the variable DEBUGINFOD_URLS is set", NULL,
     INTO(names_take_debuginfod, names)},
    {"by", 0, "KEY[,..]",
     "what a row of the table is, as for report: function (default), inline, line, "
     "image, process ..",
     ",<key>", INTO(keys_option_take, by)},
    {"rows", 0, "N", "rows of the table (default 20); 0 for all", NULL,
     INTO(options_take_count_or_all, rows)},
    {"full-names", 0, NULL,
     "functions with types, parameters and all template arguments", NULL,
     FLAG(full_names)},
    {"json", 0, NULL,
     "JSON instead of the table; attach and system print it on standard output", NULL,
     FLAG(json)},
    {"report", 0, "FILE",
     "table or JSON into FILE, not on standard error; - is standard output", "<file>",
     TEXT(report)},
    {"quiet", 'q', NULL, "no table, only errors", NULL, FLAG(quiet)},
    {"verbose", 'v', NULL, "below the table: the back end, rates and all sums", NULL,
     FLAG(verbose)},
    {0},
};
