/* SPDX-License-Identifier: MIT */
/* recording_sources.c - opens a recording's session and finds its sources. */
#include "record/recording_sources.h"
#include "base/message.h"
#include "base/text.h"
#include "record/source_words.h"

#include <stdio.h>
#include <string.h>

/* --- why there is none --- */

/* Append why each back end that was tried was refused, and what would allow it. */
static void
recording_list_refusals(const struct recording *recording, char *text, size_t size)
{
    const char *const hal = recording->options->hal;
    ntprof_backend_info info = {.size = sizeof(info)};

    for (uint32_t i = 0; NT_SUCCESS(ntprof_backend_next(i, &info)); i++) {
        const bool tried = hal == NULL || strcmp(hal, info.name) == 0;
        const size_t used = strlen(text);

        if (tried && info.watches && !info.usable) {
            snprintf(text + used, size - used, "%s%s: %s%s%s", used != 0 ? "; " : "",
                     info.name, info.reason,
                     info.remedy[0] != '\0' ? "; to allow: " : "", info.remedy);
        }
    }
}

/* Print in one line why nothing can be profiled. */
static void
recording_explain_backends(const struct recording *recording, const char *refusals)
{
    char *const *const program = recording->options->program;
    char shown[256];

    if (program != NULL) {
        cmd_fail(recording->command, "cannot profile %s, which was not started; %s",
                 text_show(shown, sizeof(shown), program[0]), refusals);
    } else {
        cmd_fail(recording->command, "cannot profile here; %s", refusals);
    }
}

bool
recording_open_preload(struct recording *recording, const char *better)
{
    char refusals[2048];
    char why[512] = "";
    size_t used;

    if (recording->pace.hit_ns != 0) {
        /* What was measured is the cost of another back end's hits. */
        pace_choose(&recording->pace, recording->options, "timer");
    }
    snprintf(refusals, sizeof(refusals), "%s", better);
    if (preload_open(&recording->preload, recording->options,
                     recording->pace.interval_100ns, why, sizeof(why))) {
        snprintf(recording->preload.better, sizeof(recording->preload.better), "%s",
                 refusals);
        return true;
    }
    used = strlen(refusals);
    snprintf(refusals + used, sizeof(refusals) - used, "%stimer: %s",
             used != 0 ? "; " : "", why);
    recording_explain_backends(recording, refusals);
    return false;
}

/* Return the first given source that no session knows, by opening a session without
 * intervals; "?" if none can be opened. */
static const char *
recording_unknown_source(const struct recording *recording)
{
    const ntprof_session_options options = {.size = sizeof(options),
                                            .backend = recording->options->hal};
    const char *unknown = "?";
    ntprof_session *session;
    KPROFILE_SOURCE source;

    if (!NT_SUCCESS(ntprof_session_open(&options, &session))) {
        return unknown;
    }
    for (size_t i = recording->options->source_count; i > 0; i--) {
        const char *const name = recording->options->sources[i - 1];

        if (!function_source_is(name) &&
            !NT_SUCCESS(ntprof_source_lookup(session, name, &source))) {
            unknown = name;
        }
    }
    ntprof_session_close(session);
    return unknown;
}

/* Print why a source cannot be used. Returns false, so that callers can return its
 * value. */
static bool
recording_fail_source(const struct recording *recording, const char *name,
                      const char *why)
{
    char advice[700];

    snprintf(advice, sizeof(advice), "%s; see: ntprof sources", why);
    return cmd_refuse_value(recording->command, "-e", name, advice);
}

/* Print that no source has a name, and which name may have been meant. Returns false,
 * so that callers can return its value. */
static bool
recording_fail_unknown(const struct recording *recording, const char *name,
                       const char *why)
{
    struct suggestion suggestion;
    char advice[600];

    snprintf(advice, sizeof(advice), "%s", why);
    source_suggest(name, &suggestion);
    suggest_append(&suggestion, advice, sizeof(advice));
    return recording_fail_source(recording, name, advice);
}

/* --- functions and regions --- */

bool
recording_find_functions(struct recording *recording)
{
    const struct record_options *const given = recording->options;
    const struct program_choice choice = record_program(given);
    char why[512];

    for (size_t i = 0; i < given->source_count; i++) {
        if (function_source_is(given->sources[i]) &&
            !function_source_resolve(&recording->functions[i], given->sources[i],
                                     &choice, given->memory_max, why, sizeof(why))) {
            return cmd_refuse_value(recording->command, "-e", given->sources[i], why);
        }
        recording->source_names[i] =
            recording->functions[i].uprobe != NULL ? given->sources[i] : NULL;
    }
    return true;
}

bool
recording_find_region(struct recording *recording)
{
    const struct record_options *const given = recording->options;
    const struct program_choice choice = record_program(given);
    char why[512];

    return given->region == NULL ||
           region_resolve(&recording->region, given->region, &choice,
                          given->bucket_bytes, given->memory_max, why, sizeof(why)) ||
           cmd_refuse_value(recording->command, "--region", given->region, why);
}

/* --- the session --- */

/* List the session's names of a source: a function may have two. Returns their
 * number. */
static size_t
recording_source_names(const struct recording *recording, size_t at,
                       const char *names[2])
{
    const struct function_source *const function = &recording->functions[at];

    names[0] = recording->options->sources[at];
    if (function->uprobe == NULL) {
        return 1;
    }
    names[0] = function->uprobe;
    names[1] = function->breakpoint;
    return function->breakpoint[0] != '\0' ? 2 : 1;
}

/* No back end can be used: programs that run starts may count by themselves. */
static bool
recording_refuse_session(struct recording *recording)
{
    char refusals[2048] = "";

    recording_list_refusals(recording, refusals, sizeof(refusals));
    if (recording->options->hal == NULL && recording->options->program != NULL) {
        return recording_open_preload(recording, refusals);
    }
    recording_explain_backends(recording, refusals);
    return false;
}

/* List the intervals that sources are given, those of both names of a function. Returns
 * their number. */
static uint32_t
recording_list_intervals(const struct recording *recording,
                         ntprof_source_interval intervals[2 * RECORD_SOURCES_MAX])
{
    uint32_t listed = 0;

    for (size_t i = 0; i < recording->options->source_count; i++) {
        const uint64_t interval = record_source_is_time(recording->options->sources[i])
                                      ? recording->pace.interval_100ns
                                      : recording->options->events;
        const char *names[2];
        const size_t count = recording_source_names(recording, i, names);

        for (size_t j = 0; interval != 0 && j < count; j++) {
            intervals[listed++] =
                (ntprof_source_interval){.source = names[j], .interval = interval};
        }
    }
    return listed;
}

bool
recording_open_session(struct recording *recording)
{
    static const char *const stack_sources[] = {"time"};
    const struct record_options *const given = recording->options;
    ntprof_source_interval intervals[2 * RECORD_SOURCES_MAX];
    /* Polled, so that the collector delivers and can keep deliveries out. */
    ntprof_session_options options = {
        .size = sizeof(options),
        .backend = given->hal,
        .flags = NTPROF_SESSION_POLLED | NTPROF_SESSION_FINE_BUCKETS |
                 (given->user_only ? NTPROF_SESSION_USER_ONLY : 0u),
        .intervals = intervals,
        .interval_count = recording_list_intervals(recording, intervals),
        .cgroup = given->cgroup,
    };
    NTSTATUS status;

    /* Timers count in the programs that run starts, without a session here. */
    if (given->hal != NULL && strcmp(given->hal, "timer") == 0) {
        return recording_open_preload(recording, "");
    }
    if (given->stacks) {
        options.stack_bytes = given->stack_bytes;
        options.stack_sources = stack_sources;
        options.stack_source_count = 1;
    }
    status = ntprof_session_open(&options, &recording->session);
    if (status == STATUS_NOT_SUPPORTED) {
        return recording_refuse_session(recording);
    }
    if (status == STATUS_INVALID_PARAMETER) {
        return recording_fail_unknown(
            recording, recording_unknown_source(recording),
            "there is no such source, or it does not take the value after its colon");
    }
    if (!NT_SUCCESS(status)) {
        const char *const why = ntprof_session_error(NULL);

        cmd_fail(recording->command, "cannot open a session: %s",
                 why[0] != '\0' ? why : ntprof_status_text(status));
        return false;
    }
    ntprof_session_use(recording->session);
    return true;
}

/* --- sources of a session --- */

/* Print why a source was not found, in the terms of the command rather than the
 * library. Returns false, so that callers can return its value. */
static bool
recording_explain_source(const struct recording *recording, const char *name,
                         NTSTATUS status)
{
    const char *const reason = ntprof_session_error(recording->session);
    ntprof_session_info info = {.size = sizeof(info)};
    char why[512];

    switch (status) {
    case STATUS_NOT_FOUND:
        ntprof_session_get_info(recording->session, &info);
        snprintf(why, sizeof(why), "there is no such source with back end %s",
                 info.backend);
        return recording_fail_unknown(recording, name, why);
    case STATUS_INVALID_PARAMETER:
        snprintf(why, sizeof(why),
                 "the source does not take the value after the colon");
        break;
    default: /* the reason may quote the name */
        text_show(why, sizeof(why),
                  reason[0] != '\0' ? reason : ntprof_status_text(status));
        break;
    }
    return recording_fail_source(recording, name, why);
}

/* Choose the uprobe of a function if the caller may use it, else its breakpoint. It
 * returns a source in any case, which then gives the reason for a failure. */
static const char *
recording_choose_source(const struct recording *recording, size_t at)
{
    const char *names[2];
    const size_t count = recording_source_names(recording, at, names);
    ntprof_source_info info = {.size = sizeof(info)};
    KPROFILE_SOURCE source;

    for (size_t i = 0; i < count; i++) {
        if (NT_SUCCESS(ntprof_source_lookup(recording->session, names[i], &source)) &&
            NT_SUCCESS(ntprof_source_get(recording->session, source, &info)) &&
            info.supported) {
            return names[i];
        }
    }
    return names[count - 1];
}

/* Print why neither a uprobe nor a breakpoint can count a function. Returns false, so
 * that callers can return its value. */
static bool
recording_fail_function(const struct recording *recording, size_t at, const char *why)
{
    const bool address = recording->functions[at].breakpoint[0] != '\0';
    char advice[700];

    snprintf(advice, sizeof(advice), "%s%s", why,
             address
                 ? "; as root, a uprobe would count it"
                 : "; or by a breakpoint, which needs its address: attach to it, or "
                   "link the program at a fixed one (-no-pie)");
    return cmd_refuse_value(recording->command, "-e", recording->options->sources[at],
                            advice);
}

bool
recording_find_source(struct recording *recording, size_t at)
{
    const bool function = recording->functions[at].uprobe != NULL;
    const char *const name = recording->options->sources[at];
    ntprof_source_info info = {.size = sizeof(info)};
    NTSTATUS status =
        ntprof_source_lookup(recording->session, recording_choose_source(recording, at),
                             &recording->sources[at]);

    if (!NT_SUCCESS(status)) {
        return recording_explain_source(recording, name, status);
    }
    for (size_t i = 0; i < at; i++) {
        if (recording->sources[i] == recording->sources[at]) {
            return cmd_refuse_value(recording->command, "-e", name, "given twice");
        }
    }
    status = ntprof_source_get(recording->session, recording->sources[at], &info);
    if (NT_SUCCESS(status) && !info.supported && function) {
        return recording_fail_function(recording, at, info.reason);
    }
    if (!NT_SUCCESS(status) || !info.supported) {
        return recording_fail_source(recording, name,
                                     NT_SUCCESS(status) ? info.reason
                                                        : ntprof_status_text(status));
    }
    recording->kernel = recording->kernel || info.kernel_included != 0;
    return true;
}
