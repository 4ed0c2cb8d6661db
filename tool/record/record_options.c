/* SPDX-License-Identifier: MIT */
/* record_options.c - parses the command lines of the commands that record. */
#include "record/record_options.h"
#include "base/number.h"
#include "base/options.h"
#include "cli/cmd.h"
#include "cli/view_options.h"
#include "record/cgroup.h"
#include "record/record_cpus.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    OPT_INTERVAL = OPTION_OWN,
    OPT_BUCKET,
    OPT_HAL,
    OPT_BY,
    OPT_ROWS,
    OPT_JSON,
    OPT_REPORT,
    OPT_EVERY,
    OPT_DURATION,
    OPT_DELAY,
    OPT_CONTROL,
    OPT_NO_GUARD,
    OPT_MAX_OVERHEAD,
    OPT_MAX_MEMORY,
    OPT_PER,
    OPT_REGION,
    OPT_NO_LINES,
    OPT_DEBUGINFOD,
    OPT_KERNEL,
    OPT_USER
};

/* The commands that have an option. */
enum audience {
    ALL,
    WITH_TABLE,
    WITH_PIDS,
    WITH_DURATION,
    WITH_MACHINE,
    WITH_SCREEN,
    WITH_REGION
};

static const struct {
    struct option option;
    enum audience audience;
} known_options[] = {
    {{"event", required_argument, NULL, 'e'}, ALL},
    {{"frequency", required_argument, NULL, 'F'}, ALL},
    {{"count", required_argument, NULL, 'c'}, ALL},
    {{"cpu", required_argument, NULL, 'C'}, ALL},
    {{"per", required_argument, NULL, OPT_PER}, WITH_TABLE},
    {{"output", required_argument, NULL, 'o'}, ALL},
    {{"quiet", no_argument, NULL, 'q'}, WITH_TABLE},
    {{"interval", required_argument, NULL, OPT_INTERVAL}, ALL},
    {{"bucket", required_argument, NULL, OPT_BUCKET}, ALL},
    {{"hal", required_argument, NULL, OPT_HAL}, ALL},
    {{"by", required_argument, NULL, OPT_BY}, WITH_TABLE},
    {{"rows", required_argument, NULL, OPT_ROWS}, WITH_TABLE},
    {{"json", no_argument, NULL, OPT_JSON}, WITH_TABLE},
    {{"report", required_argument, NULL, OPT_REPORT}, WITH_TABLE},
    {{"every", required_argument, NULL, OPT_EVERY}, WITH_TABLE},
    {{"delay", required_argument, NULL, OPT_DELAY}, WITH_TABLE},
    {{"control", required_argument, NULL, OPT_CONTROL}, WITH_TABLE},
    {{"no-guard", no_argument, NULL, OPT_NO_GUARD}, ALL},
    {{"max-overhead", required_argument, NULL, OPT_MAX_OVERHEAD}, WITH_TABLE},
    {{"max-memory", required_argument, NULL, OPT_MAX_MEMORY}, ALL},
    {{"no-lines", no_argument, NULL, OPT_NO_LINES}, ALL},
    {{"debuginfod", optional_argument, NULL, OPT_DEBUGINFOD}, WITH_TABLE},
    {OPTION_HELP_ROW, ALL},
    {{"pid", required_argument, NULL, 'p'}, WITH_PIDS},
    {{"duration", required_argument, NULL, OPT_DURATION}, WITH_DURATION},
    {{"kernel", no_argument, NULL, OPT_KERNEL}, WITH_MACHINE},
    {{"user", no_argument, NULL, OPT_USER}, WITH_MACHINE},
    {{"cgroup", required_argument, NULL, 'G'}, WITH_MACHINE},
    {{"region", required_argument, NULL, OPT_REGION}, WITH_REGION},
    {{"all", no_argument, NULL, 'a'}, WITH_SCREEN},
    {{"delay", required_argument, NULL, 'd'}, WITH_SCREEN},
};

enum { KNOWN_OPTIONS = sizeof(known_options) / sizeof(known_options[0]) };

static const uint64_t second_100ns = 10000000;
static const uint64_t default_hz = 997;
static const uint64_t every_min_ns = 100000000;
static const uint64_t delay_default_ns = 2000000000;
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
static const uint64_t memory_min = 1 << 20;
static const uint64_t memory_default = UINT64_C(1) << 30;

/* given - values that are checked together once all options are read. */
struct given {
    struct record_options *options;
    const char *frequency;
    const char *interval;
    const char *events;
    const char *sources;
};

static bool
bad(const struct record_options *options, const char *option, const char *text,
    const char *allowed)
{
    return cmd_refuse_value(options->syntax->command, option, text, allowed);
}

static bool
parse_frequency(struct record_options *options, const char *text)
{
    uint64_t hz;

    if (!number_parse_hz(text, &hz) || hz == 0) {
        return bad(options, "-F", text, "not a rate; such as 997, 5k, 1kHz or max");
    }
    options->rate_max = hz == NUMBER_HZ_MAX;
    options->interval_100ns = hz >= second_100ns ? 1 : (second_100ns + hz / 2) / hz;
    return true;
}

static bool
parse_interval(struct record_options *options, const char *text)
{
    uint64_t ns;

    if (!number_parse_ns(text, &ns) || ns < 100) {
        return bad(options, "--interval", text,
                   "not a time of 100ns or more; such as 1ms or 250us");
    }
    options->interval_100ns = ns / 100;
    return true;
}

static bool
parse_events(struct record_options *options, const char *text)
{
    if (!number_parse_count(text, &options->events) || options->events == 0) {
        return bad(options, "-c", text,
                   "not a number of events, 1 or more; such as 1000 or 10k");
    }
    return true;
}

/* Parse a percentage, with or without its sign. */
static bool
parse_overhead(struct record_options *options, const char *text)
{
    char *end;
    const double percent = strtod(text, &end);

    if (end == text || (*end != '\0' && strcmp(end, "%") != 0) ||
        !(percent >= overhead_min_percent && percent <= overhead_max_percent)) {
        return bad(options, "--max-overhead", text,
                   "not a percentage from 0.01 to 50; such as 1 or 2.5%");
    }
    options->overhead_percent = percent;
    return true;
}

static bool
parse_every(struct record_options *options, const char *text)
{
    if (!number_parse_ns(text, &options->every_ns) ||
        options->every_ns < every_min_ns) {
        return bad(options, "--every", text,
                   "not a time of 100ms or more; such as 10s or 1m");
    }
    return true;
}

static bool
parse_time(const struct record_options *options, const char *option, const char *text,
           const struct options_times *times, uint64_t *ns)
{
    return options_time(options->syntax->command, option, text, times, ns);
}

/* Parse the next number of a list such as 12,34 and advance *text past it and its
 * comma. */
static bool
next_pid(const char **text, uint32_t *pid)
{
    unsigned long value;
    char *end;

    if (**text < '0' || **text > '9') {
        return false;
    }
    errno = 0;
    value = strtoul(*text, &end, 10);
    if (errno != 0 || value == 0 || value > INT32_MAX ||
        (*end != '\0' && (*end != ',' || end[1] == '\0'))) {
        return false;
    }
    *pid = (uint32_t)value;
    *text = *end == ',' ? end + 1 : end;
    return true;
}

static bool
add_pid(struct record_options *options, const char *list, uint32_t pid)
{
    uint32_t *pids;

    for (size_t i = 0; i < options->pid_count; i++) {
        if (options->pids[i] == pid) {
            char again[64];

            snprintf(again, sizeof(again), "%" PRIu32 " is given twice", pid);
            return bad(options, "-p", list, again);
        }
    }
    pids = reallocarray(options->pids, options->pid_count + 1, sizeof(*pids));
    if (pids == NULL) {
        return bad(options, "-p", list, "out of memory");
    }
    options->pids = pids;
    pids[options->pid_count++] = pid;
    return true;
}

static bool
parse_pids(struct record_options *options, const char *list)
{
    const char *text = list;

    do {
        uint32_t pid;

        if (!next_pid(&text, &pid)) {
            return bad(options, "-p", list,
                       "must be process ids with commas between, such as 1234,5678");
        }
        if (!add_pid(options, list, pid)) {
            return false;
        }
    } while (*text != '\0');
    return true;
}

static bool
parse_cgroup(struct record_options *options, const char *name)
{
    char error[400];

    free(options->cgroup);
    options->cgroup = NULL;
    if (name[0] == '\0') {
        return bad(options, "-G", name,
                   "must be a path, such as system.slice; / is the root");
    }
    options->cgroup = cgroup_find(name, error, sizeof(error));
    return options->cgroup != NULL || bad(options, "-G", name, error);
}

static bool
parse_bucket(struct record_options *options, const char *text)
{
    uint64_t bytes;

    if (!number_parse_bytes(text, &bytes) || bytes < 1 || bytes > bucket_bytes_max ||
        (bytes & (bytes - 1)) != 0) {
        return bad(options, "--bucket", text, "must be a power of two from 1 to 1M");
    }
    options->bucket_bytes = (uint32_t)bytes;
    return true;
}

static bool
parse_memory(struct record_options *options, const char *text)
{
    if (!number_parse_bytes(text, &options->memory_max) ||
        options->memory_max < memory_min) {
        return bad(options, "--max-memory", text,
                   "not a size of 1M or more; such as 256M or 2G");
    }
    return true;
}

static bool
parse_per(struct record_options *options, const char *text)
{
    if (strcmp(text, "cpu") != 0) {
        return bad(options, "--per", text,
                   "allowed is cpu: hits of each processor on their own");
    }
    options->per_cpu = true;
    return true;
}

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

static bool
parse_hal(struct record_options *options, const char *text)
{
    ntprof_backend_info name = {.size = offsetof(ntprof_backend_info, usable)};
    ntprof_backend_info info = {.size = sizeof(info)};
    const char *what = "no such HAL";
    char allowed[128];
    char why[256];

    if (strcmp(text, "timer") == 0) {
        options->hal = text;
        return options->syntax->program ||
               bad(options, "--hal", text,
                   "timers count only in programs that ntprof run starts");
    }

    for (uint32_t i = 0; NT_SUCCESS(ntprof_backend_next(i, &name)); i++) {
        if (strcmp(name.name, text) != 0) {
            continue; /* not probed, since that takes time */
        }
        if (NT_SUCCESS(ntprof_backend_next(i, &info)) && info.watches != 0) {
            options->hal = text;
            return true;
        }
        what = "it counts profile objects of programs and watches no process";
    }
    list_hals(allowed, sizeof(allowed));
    snprintf(why, sizeof(why), "%s; there are%s%s", what, allowed,
             options->syntax->program ? " timer" : "");
    return bad(options, "--hal", text, why);
}

static bool
parse_sources(struct record_options *options, const char *text)
{
    char *next;

    options->source_text = strdup(text);
    next = options->source_text;
    while (next != NULL) {
        const char *const name = strsep(&next, ",");

        if (*name == '\0' || options->source_count == RECORD_SOURCES_MAX) {
            return bad(
                options, "-e", text,
                "must be 1 to 16 names with commas between; see: ntprof sources");
        }
        options->sources[options->source_count++] = name;
    }
    if (options->source_count == 0) {
        cmd_fail(options->syntax->command, "out of memory");
        return false;
    }
    return true;
}

struct program_choice
record_program(const struct record_options *options)
{
    return (struct program_choice){
        .program = options->program != NULL ? options->program[0] : NULL,
        .pids = options->pids,
        .pid_count = options->pid_count,
    };
}

bool
record_source_is_time(const char *name)
{
    return strcasecmp(name, "time") == 0 || strcasecmp(name, "ProfileTime") == 0;
}

/* Determine which kinds of sources were requested. */
static void
classify_sources(const struct record_options *options, bool *time, bool *events)
{
    *time = false;
    *events = false;
    for (size_t i = 0; i < options->source_count; i++) {
        if (record_source_is_time(options->sources[i])) {
            *time = true;
        } else {
            *events = true;
        }
    }
}

static bool
parse_intervals(struct record_options *options, const struct given *given)
{
    const uint64_t hz = options->syntax->hz != 0 ? options->syntax->hz : default_hz;
    bool time;
    bool events;

    classify_sources(options, &time, &events);
    if (given->frequency != NULL && given->interval != NULL) {
        cmd_fail(options->syntax->command,
                 "-F and --interval say the same thing: give one of them");
        return false;
    }
    if (!time && (given->frequency != NULL || given->interval != NULL)) {
        cmd_fail(options->syntax->command,
                 "%s is for source time, which -e leaves out; -c is for the others",
                 given->frequency != NULL ? "-F" : "--interval");
        return false;
    }
    if (options->overhead_percent > 0 &&
        (!time || given->frequency != NULL || given->interval != NULL)) {
        cmd_fail(options->syntax->command,
                 time ? "--max-overhead chooses the rate: give it or -F or --interval"
                      : "--max-overhead is for source time, which -e leaves out");
        return false;
    }
    if (!events && given->events != NULL) {
        cmd_fail(options->syntax->command,
                 "-c is for sources that count events, and -e names none; "
                 "-F or --interval is for time");
        return false;
    }
    options->interval_100ns = (second_100ns + hz / 2) / hz;
    return (given->frequency == NULL || parse_frequency(options, given->frequency)) &&
           (given->interval == NULL || parse_interval(options, given->interval)) &&
           (given->events == NULL || parse_events(options, given->events));
}

/* Set an option without a value. Returns false if it is not one of these. */
static bool
take_flag(struct record_options *options, int option)
{
    switch (option) {
    case OPT_JSON:
        options->json = true;
        return true;
    case OPT_NO_GUARD:
        options->no_guard = true;
        return true;
    case OPT_NO_LINES:
        options->names.no_lines = true;
        return true;
    case 'a':
        options->all = true;
        return true;
    case OPT_KERNEL:
        options->kernel_only = true;
        return true;
    case OPT_USER:
        options->user_only = true;
        return true;
    case 'q':
        options->quiet = true;
        return true;
    default:
        return false;
    }
}

/* Keep the text of an option until all are read. Returns false if it is not one of
 * these. */
static bool
take_text(struct given *given, int option, char *text)
{
    switch (option) {
    case 'F':
        given->frequency = text;
        return true;
    case OPT_INTERVAL:
        given->interval = text;
        return true;
    case 'c':
        given->events = text;
        return true;
    case 'o':
        given->options->output = text;
        return true;
    case OPT_REPORT:
        given->options->report = text;
        return true;
    case OPT_CONTROL:
        given->options->control = text;
        return true;
    case OPT_REGION:
        given->options->region = text;
        return true;
    case OPT_DEBUGINFOD:
        given->options->names.download = true;
        given->options->names.urls = text;
        return true;
    default:
        return false;
    }
}

static bool
take_sources(struct given *given, char *text)
{
    if (given->sources != NULL) {
        return bad(given->options, "-e", text,
                   "a second -e; name all with commas, as in -e time,page-faults");
    }
    given->sources = text;
    return true;
}

static bool
parse_option(void *context, int option, char *text)
{
    struct given *const given = context;
    struct record_options *const options = given->options;

    switch (option) {
    case 'e':
        return take_sources(given, text);
    case 'C':
        return record_cpus_parse(options, text);
    case OPT_BUCKET:
        return parse_bucket(options, text);
    case OPT_HAL:
        return parse_hal(options, text);
    case OPT_BY:
        return view_options_keys(options->syntax->command, text, true, &options->by);
    case OPT_ROWS:
        return options_count(options->syntax->command, "--rows", text, "all",
                             &options->rows);
    case OPT_EVERY:
        return parse_every(options, text);
    case OPT_MAX_MEMORY:
        return parse_memory(options, text);
    case OPT_PER:
        return parse_per(options, text);
    case OPT_DURATION:
        return parse_time(options, "--duration", text, &durations,
                          &options->duration_ns);
    case 'd':
        return parse_time(options, "-d", text, &refresh_times, &options->delay_ns);
    case OPT_MAX_OVERHEAD:
        return parse_overhead(options, text);
    case OPT_DELAY:
        return parse_time(options, "--delay", text, &start_delays,
                          &options->start_delay_ns);
    case 'p':
        return parse_pids(options, text);
    case 'G':
        return parse_cgroup(options, text);
    default:
        return take_flag(options, option) || take_text(given, option, text);
    }
}

/* Collect the options of a command; chosen has room for all of them and the end. */
static void
choose_options(const struct record_syntax *syntax, struct option *chosen)
{
    size_t count = 0;

    for (size_t i = 0; i < KNOWN_OPTIONS; i++) {
        const enum audience audience = known_options[i].audience;

        if (audience == ALL || (audience == WITH_PIDS && syntax->pids) ||
            (audience == WITH_DURATION && syntax->duration) ||
            (audience == WITH_MACHINE && syntax->machine) ||
            (audience == WITH_SCREEN && syntax->screen) ||
            (audience == WITH_REGION && syntax->region) ||
            (audience == WITH_TABLE && !syntax->screen)) {
            chosen[count++] = known_options[i].option;
        }
    }
    chosen[count] = (struct option){0};
}

/* Check that the recording will have the data for all keys of --by. */
static bool
check_keys(const struct record_options *options)
{
    if (report_has_key(&options->by, REPORT_BY_THREAD)) {
        return bad(options, "--by", "thread",
                   "ntprof counts by program; use --by process");
    }
    if (report_has_key(&options->by, REPORT_BY_UNIT)) {
        return bad(options, "--by", "unit", "only ntprof agent records units");
    }
    if (report_has_key(&options->by, REPORT_BY_CPU) && !options->per_cpu) {
        return bad(options, "--by", "cpu", "needs --per cpu");
    }
    return true;
}

static bool
check_together(const struct record_options *options)
{
    if (options->kernel_only && options->user_only) {
        cmd_fail(options->syntax->command,
                 "--kernel and --user leave nothing: give one of them");
        return false;
    }
    if (options->all && options->pid_count != 0) {
        cmd_fail(options->syntax->command,
                 "-a is for all processes and -p for some: give one of them");
        return false;
    }
    if (options->cgroup != NULL && options->pid_count != 0) {
        cmd_fail(options->syntax->command,
                 "-G and -p say whose processes both: give one of them");
        return false;
    }
    if (options->region != NULL && options->by.count != 0) {
        cmd_fail(options->syntax->command,
                 "--region has a table of its own: leave out --by, which ntprof report "
                 "has for the file");
        return false;
    }
    if (options->syntax->pids && !options->syntax->screen && options->pid_count == 0) {
        cmd_fail(options->syntax->command, "no process given; try: ntprof %s PID",
                 options->syntax->command);
        return false;
    }
    return true;
}

/* Accept processes that were named without -p. */
static bool
take_pids(struct record_options *options, const struct options_words *words)
{
    for (size_t i = 0; !options->syntax->program && i < words->count; i++) {
        if (!parse_pids(options, words->list[i])) {
            return false;
        }
    }
    return true;
}

/* Take the command to run, which follows the options. */
static bool
take_program(struct record_options *options, const struct options_words *words)
{
    if (!options->syntax->program) {
        return true;
    }
    options->program = words->list;
    if (words->count == 0) {
        cmd_fail(options->syntax->command,
                 "no command to run; try: ntprof %s -- COMMAND",
                 options->syntax->command);
    }
    return words->count > 0;
}

/* Check the options together, once all are read. */
static bool
complete(const struct given *given, const struct options_words *words)
{
    struct record_options *const options = given->options;

    return parse_sources(options, given->sources != NULL ? given->sources : "time") &&
           parse_intervals(options, given) && take_program(options, words) &&
           take_pids(options, words) && check_together(options) &&
           check_keys(options) && record_cpus_list(options);
}

bool
record_options_take(struct record_options *options, const struct record_syntax *syntax,
                    int argc, char **argv, int *exit_status)
{
    struct option known[KNOWN_OPTIONS + 1];
    const struct options_syntax taken = {
        .command = syntax->command,
        .known = known,
        .program = syntax->program,
        .words_max = syntax->pids && !syntax->screen ? SIZE_MAX : 0,
        .set = parse_option,
    };
    struct given given = {.options = options};
    struct options_words words;

    choose_options(syntax, known);
    *options = (struct record_options){
        .syntax = syntax,
        .bucket_bytes = 1,
        .memory_max = memory_default,
        .output = CMD_FILE_DEFAULT,
        .rows = CMD_ROWS_DEFAULT,
        .delay_ns = delay_default_ns,
    };
    /* A copy: the caller's words describe the recording, and taking them changes it. */
    options->words = calloc((size_t)argc + 1, sizeof(*options->words));
    if (options->words == NULL) {
        *exit_status = cmd_fail(syntax->command, "out of memory");
        return false;
    }
    memcpy(options->words, argv, (size_t)argc * sizeof(*options->words));
    return options_take(&taken, argc, options->words, &given, &words, exit_status) &&
           complete(&given, &words);
}

void
record_options_finish(struct record_options *options)
{
    free(options->words);
    free(options->source_text);
    free(options->pids);
    free(options->cgroup);
}
