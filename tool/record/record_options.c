/* SPDX-License-Identifier: MIT */
/* record_options.c - reads the command lines of the commands that record, and checks
 * what depends on several options. */
#include "record/record_options.h"
#include "base/message.h"
#include "base/number.h"
#include "record/default_output.h"
#include "record/record_cpus.h"
#include "record/record_pids.h"
#include "stacks/walk.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const uint64_t second_100ns = 10000000;
static const uint64_t default_hz = 997;
static const uint64_t delay_default_ns = 2000000000;
static const uint64_t memory_default = UINT64_C(1) << 30;
static const uint32_t stack_bytes_default = 16384;
static const size_t contexts_default = 262144;

/* --- values --- */

static bool
refuse_value(const struct record_options *options, const char *option, const char *text,
             const char *allowed)
{
    return cmd_refuse_value(options->command, option, text, allowed);
}

static bool
parse_frequency(struct record_options *options, const char *text)
{
    uint64_t hz;

    if (!number_parse_hz(text, &hz) || hz == 0) {
        return refuse_value(options, "-F", text,
                            "not a rate; such as 997, 5k, 1kHz or max");
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
        return refuse_value(options, "--interval", text,
                            "not a time of 100ns or more; such as 1ms or 250us");
    }
    options->interval_100ns = ns / 100;
    return true;
}

static bool
parse_events(struct record_options *options, const char *text)
{
    if (!number_parse_count(text, &options->events) || options->events == 0) {
        return refuse_value(options, "-c", text,
                            "not a number of events, 1 or more; such as 1000 or 10k");
    }
    return true;
}

/* --- sources --- */

static bool
parse_sources(struct record_options *options, const char *text)
{
    char *next;

    options->source_text = strdup(text);
    next = options->source_text;
    while (next != NULL) {
        const char *const name = strsep(&next, ",");

        if (*name == '\0' || options->source_count == RECORD_SOURCES_MAX) {
            return refuse_value(
                options, "-e", text,
                "must be 1 to 16 names with commas between; see: ntprof sources");
        }
        options->sources[options->source_count++] = name;
    }
    if (options->source_count == 0) { /* strdup failed: even "" has one name */
        cmd_fail(options->command, "out of memory");
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

/* Check -F, --interval, -c and --max-overhead together, and set the intervals. Returns
 * false after an error line. */
static bool
parse_intervals(struct record_options *options)
{
    const struct record_given *const given = &options->given;
    const uint64_t hz = options->syntax->hz != 0 ? options->syntax->hz : default_hz;
    bool time;
    bool events;

    classify_sources(options, &time, &events);
    if (given->frequency != NULL && given->interval != NULL) {
        cmd_fail(options->command,
                 "-F and --interval say the same thing: give one of them");
        return false;
    }
    if (!time && (given->frequency != NULL || given->interval != NULL)) {
        cmd_fail(options->command,
                 "%s is for source time, which -e leaves out; -c is for the others",
                 given->frequency != NULL ? "-F" : "--interval");
        return false;
    }
    if (options->overhead_percent > 0 &&
        (!time || given->frequency != NULL || given->interval != NULL)) {
        cmd_fail(options->command,
                 time ? "--max-overhead chooses the rate: give it or -F or --interval"
                      : "--max-overhead is for source time, which -e leaves out");
        return false;
    }
    if (!events && given->events != NULL) {
        cmd_fail(options->command,
                 "-c is for sources that count events, and -e names none; "
                 "-F or --interval is for time");
        return false;
    }
    options->interval_100ns = (second_100ns + hz / 2) / hz;
    return (given->frequency == NULL || parse_frequency(options, given->frequency)) &&
           (given->interval == NULL || parse_interval(options, given->interval)) &&
           (given->events == NULL || parse_events(options, given->events));
}

/* --- options together --- */

/* Check that the recording will have the data for all keys of --by. */
static bool
check_keys(const struct record_options *options)
{
    if (report_has_key(&options->by, REPORT_BY_THREAD) && !options->threads) {
        return refuse_value(options, "--by", "thread", "needs --threads");
    }
    if (report_has_key(&options->by, REPORT_BY_PID) && !options->threads) {
        return refuse_value(options, "--by", "pid",
                            "needs --threads; or use --by process");
    }
    if (report_has_key(&options->by, REPORT_BY_UNIT)) {
        return refuse_value(options, "--by", "unit", "only ntprof agent records units");
    }
    if (report_has_key(&options->by, REPORT_BY_CPU) && !options->per_cpu) {
        return refuse_value(options, "--by", "cpu", "needs --per cpu");
    }
    return true;
}

/* Check what -g needs, and set what was not given. */
static bool
check_stacks(struct record_options *options)
{
    bool time;
    bool events;

    if (!options->stacks) {
        if (options->stack_bytes != 0 || options->contexts != 0) {
            cmd_fail(options->command, "%s is for stacks: give -g too",
                     options->stack_bytes != 0 ? "--stack-bytes" : "--contexts");
        }
        return options->stack_bytes == 0 && options->contexts == 0;
    }
    if (!stack_walk_possible()) {
        return cmd_refuse(options->command, "-g",
                          "no call stacks are recorded on this machine, only on "
                          "x86-64 and arm64");
    }
    classify_sources(options, &time, &events);
    if (!time) {
        cmd_fail(options->command, "-g: only source time has stacks, which -e leaves "
                                   "out; add it: -e time,..");
        return false;
    }
    if (options->hal != NULL && strcmp(options->hal, "perf") != 0 &&
        strcmp(options->hal, "timer") != 0) {
        return refuse_value(options, "--hal", options->hal,
                            "has no stacks; -g needs back end perf or timer");
    }
    options->stack_bytes =
        options->stack_bytes != 0 ? options->stack_bytes : stack_bytes_default;
    options->contexts = options->contexts != 0 ? options->contexts : contexts_default;
    return true;
}

/* Check options that exclude or need each other. */
static bool
check_together(const struct record_options *options)
{
    if (options->kernel_only && options->user_only) {
        cmd_fail(options->command,
                 "--kernel and --user leave nothing: give one of them");
        return false;
    }
    if (options->all && options->pid_count != 0) {
        cmd_fail(options->command,
                 "-a is for all processes and -p for some: give one of them");
        return false;
    }
    if (options->children && options->pid_count == 0) {
        cmd_fail(options->command,
                 "--children: whose? try: ntprof %s --children "
                 "PID",
                 options->command);
        return false;
    }
    if (options->cgroup != NULL && options->pid_count != 0) {
        cmd_fail(options->command,
                 "-G and -p say whose processes both: give one of them");
        return false;
    }
    if (options->region != NULL && options->by.count != 0) {
        cmd_fail(options->command,
                 "--region has a table of its own: leave out --by, which ntprof report "
                 "has for the file");
        return false;
    }
    if (options->syntax->pids && !options->syntax->screen && options->pid_count == 0) {
        cmd_fail(options->command,
                 "no process given; try: ntprof %s PID, or the name of one",
                 options->command);
        return false;
    }
    return true;
}

/* --- what is recorded --- */

/* Accept processes that were named without -p. */
static bool
take_pids(struct record_options *options, const struct options_words *words)
{
    for (size_t i = 0; !options->syntax->options->program && i < words->count; i++) {
        if (!record_pids_parse(options, words->list[i])) {
            return false;
        }
    }
    return true;
}

/* Take the command to run, which follows the options. */
static bool
take_program(struct record_options *options, const struct options_words *words)
{
    if (!options->syntax->options->program) {
        return true;
    }
    options->program = words->list;
    if (words->count == 0) {
        cmd_fail(options->command, "no command to run; try: ntprof %s -- COMMAND",
                 options->command);
    }
    return words->count > 0;
}

/* Check the options together, once all are read, and set what depends on several.
 * Returns false after an error line. */
static bool
finish_options(struct record_options *options, const struct options_words *words)
{
    const char *const sources = options->given.sources;

    return parse_sources(options, sources != NULL ? sources : "time") &&
           parse_intervals(options) && take_program(options, words) &&
           take_pids(options, words) && check_together(options) &&
           check_stacks(options) && check_keys(options) && record_cpus_list(options);
}

/* --- what commands call --- */

bool
record_options_take(struct record_options *options, const struct record_syntax *syntax,
                    int argc, char **argv, int *exit_status)
{
    const char *const command = syntax->options->command;
    struct options_words words;

    *options = (struct record_options){
        .syntax = syntax,
        .command = command,
        .bucket_bytes = 1,
        .memory_max = memory_default,
        .rows = CMD_ROWS_DEFAULT,
        .delay_ns = delay_default_ns,
    };
    /* A copy: the caller's words describe the recording, and taking them changes it. */
    options->words = calloc((size_t)argc + 1, sizeof(*options->words));
    if (options->words == NULL) {
        *exit_status = cmd_fail(command, "out of memory");
        return false;
    }
    memcpy(options->words, argv, (size_t)argc * sizeof(*options->words));
    if (!options_take(syntax->options, argc, options->words, options, &words,
                      exit_status) ||
        !finish_options(options, &words)) { /* *exit_status is CMD_FAILED already */
        return false;
    }
    /* A screen writes a file only when the user asks for it, an agent none. */
    if (options->output == NULL && !syntax->screen && !syntax->endless) {
        options->made_output = default_output_make(command);
        options->output = options->made_output;
    }
    options->output = options->output != NULL ? options->output : CMD_FILE_DEFAULT;
    return true;
}

void
record_options_finish(struct record_options *options)
{
    default_output_finish(options->made_output);
    free(options->words);
    free(options->source_text);
    free(options->pids);
    free(options->pid_names);
    free(options->cgroup);
}
