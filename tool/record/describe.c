/* SPDX-License-Identifier: MIT */
/* describe.c - texts about a recording, which its profile contains. */
#include "record/describe.h"

#include "profile/stack_ends.h"
#include "record/collect/kernel_range.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- what was recorded --- */

/* There may be a hundred thousand words, so they are joined in time
 * proportional to their bytes. */
char *
describe_command(char **words)
{
    size_t bytes = 0;
    char *text;
    char *end;

    for (char **word = words; *word != NULL; word++) {
        bytes += strlen(*word) + 1;
    }
    text = malloc(bytes);
    end = text;
    for (char **word = words; text != NULL && *word != NULL; word++) {
        end = stpcpy(end, *word);
        *end++ = word[1] != NULL ? ' ' : '\0';
    }
    return text;
}

/* Append a text, after "; " unless it is the first. */
__attribute__((format(printf, 3, 4))) static void
add(FILE *out, bool *first, const char *format, ...)
{
    va_list arguments;

    fputs(*first ? "" : "; ", out);
    *first = false;
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
}

char *
describe_limits(const ntprof_session_info *info, const char *pace,
                const struct record_options *options)
{
    const char *const texts[] = {info->better, info->limits, pace};
    char *joined = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&joined, &size);
    bool first = true;

    if (out == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i][0] != '\0') {
            add(out, &first, "%s", texts[i]);
        }
    }
    if (options->user_only) {
        add(out, &first, PROFILE_USER_ONLY);
    }
    if (options->region != NULL) {
        add(out, &first, "%s%s was profiled", PROFILE_REGION_ONLY, options->region);
    }
    if (fclose(out) != 0) {
        free(joined);
        return NULL;
    }
    return joined;
}

/* --- gaps --- */

/* Return the number of lost records of mappings, threads and processes,
 * without those of hits. */
static uint64_t
count_lost_records(const struct collector_gaps *gaps, const struct profile *profile)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < profile->source_count; i++) {
        hits += profile->sources[i].lost;
    }
    return gaps->records_lost > hits ? gaps->records_lost - hits : 0;
}

static const char *
plural(uint64_t count, const char *one, const char *several)
{
    return count == 1 ? one : several;
}

/* Describe processes and mappings that could not be followed or read. */
static void
put_unfollowed(FILE *out, bool *first, const struct collector_gaps *gaps,
               uint64_t lost_records)
{
    if (gaps->failures != 0) {
        add(out, first,
            "%" PRIu64 " " PROFILE_GAP_MAPPING "%s could not be profiled: %s",
            gaps->failures, gaps->failures == 1 ? "" : "s",
            ntprof_status_text(gaps->first_failure));
    }
    if (lost_records != 0) {
        add(out, first,
            "%" PRIu64 " records of " PROFILE_GAP_MAPPING
            "s and threads were lost: hits "
            "there may be outside or have wrong names",
            lost_records);
    }
    if (gaps->unfollowed != 0) {
        /* Linux ends the events of a process that executes a program with other
         * rights. */
        add(out, first,
            "%" PRIu64 " program%s could not be followed, being set-uid or "
            "unreadable%s",
            gaps->unfollowed, plural(gaps->unfollowed, "", "s"),
            geteuid() == 0 ? " for the user who started it: Linux ends the counters of "
                             "such a process, also root's; ntprof system counts it"
                           : "; to allow it, run ntprof as root");
    }
    if (gaps->unread != 0) {
        add(out, first,
            "%" PRIu64 " process%s could not be read, or not all of its threads "
            "found, or processors not counted that came online: hits there may be "
            "outside or missing",
            gaps->unread, plural(gaps->unread, "", "es"));
    }
}

/* Describe what has no counters or no names because of limits. */
static void
put_left_out(FILE *out, bool *first, const struct collector_gaps *gaps)
{
    if (gaps->unopened != 0) {
        add(out, first,
            "%" PRIu64 " image%s could not be kept open and ha%s no names: raise the "
            "limit of open files",
            gaps->unopened, plural(gaps->unopened, "", "s"),
            plural(gaps->unopened, "s", "ve"));
    }
    if (gaps->refused != 0) {
        add(out, first,
            "%" PRIu64 " " PROFILE_GAP_MAPPING "%s left out when the memory of "
            "--max-memory was used up: hits there are outside; raise it",
            gaps->refused, plural(gaps->refused, " was", "s were"));
    }
    if (gaps->unowned != 0) {
        add(out, first,
            "%" PRIu64 " hit%s not given to %s process or thread when the memory of "
            "--max-memory was used up: those in the kernel are process [kernel]; raise "
            "it",
            gaps->unowned, plural(gaps->unowned, " was", "s were"),
            plural(gaps->unowned, "its", "their"));
    }
    if (gaps->unnamed != 0) {
        add(out, first,
            "names of %" PRIu64
            " JIT%s that exited were dropped because of --max-memory: "
            "raise it",
            gaps->unnamed, plural(gaps->unnamed, "", "s"));
    }
    if (gaps->bounded_images != 0) {
        add(out, first,
            "%" PRIu64 " image%s would have cost too much memory or time to read, had "
            "no descriptor left, or a file system that did not answer: names or lines "
            "are missing",
            gaps->bounded_images, plural(gaps->bounded_images, "", "s"));
    }
    if (gaps->unread_tables != 0) {
        add(out, first,
            "the unwind tables of %" PRIu64
            " image%s could not be read (%s): who called "
            "%s code is not recorded",
            gaps->unread_tables, plural(gaps->unread_tables, "", "s"), gaps->unread_why,
            plural(gaps->unread_tables, "its", "their"));
    }
    if (access("/proc/self/fd", X_OK) != 0) {
        add(out, first,
            "/proc is not mounted, without which no image is opened: names are "
            "missing");
    }
    if (gaps->refused_maps != 0) {
        add(out, first,
            "the perf map%s of %" PRIu64 " process%s %s not read (%s): hits of %s JIT "
            "code have no names",
            plural(gaps->refused_maps, "", "s"), gaps->refused_maps,
            plural(gaps->refused_maps, "", "es"),
            plural(gaps->refused_maps, "was", "were"), gaps->refused_why,
            plural(gaps->refused_maps, "its", "their"));
    }
}

/* Describe why hits in kernel mode are in no row. */
static void
put_kernel(FILE *out, bool *first, const struct profile *profile)
{
    const char *doubt = NULL;

    for (size_t i = 0; i < profile->source_count && doubt == NULL; i++) {
        doubt = profile->sources[i].outside_kernel > 0 ? kernel_range_doubt() : NULL;
    }
    if (doubt != NULL) {
        add(out, first, "the kernel's code was not found: %s", doubt);
    }
}

/* Describe threads without timers. */
static void
put_unarmed(FILE *out, bool *first, const struct collector_gaps *gaps)
{
    static const char *const texts[UNARMED_CAUSES] = {
        [UNARMED_LIMIT] = ", so hits are missing: raise RLIMIT_SIGPENDING",
        [UNARMED_SIGNALS] = (" or lost it, so hits are missing: the program has to "
                             "leave a real-time signal unused"),
        [UNARMED_REFUSED] =
            ", so hits are missing: a system call filter refuses timer_create",
        [UNARMED_OTHER] = ", so hits are missing",
    };

    for (size_t i = 0; i < UNARMED_CAUSES; i++) {
        if (gaps->unarmed[i] != 0) {
            add(out, first, "%" PRIu64 " thread%s got no timer%s", gaps->unarmed[i],
                plural(gaps->unarmed[i], "", "s"), texts[i]);
        }
    }
}

/* Describe what preload objects could not do, and what cannot be believed of them. */
static void
put_preloaded(FILE *out, bool *first, const struct collector_gaps *gaps)
{
    if (gaps->none_loaded) {
        add(out, first,
            "no program has loaded the preload object: nothing was counted; a system "
            "call filter or the loader's settings may refuse it, and AddressSanitizer "
            "does unless ASAN_OPTIONS has verify_asan_link_order=0");
    }
    if (gaps->unloaded != 0) {
        add(out, first,
            "%" PRIu64
            " process%s executed a program that loaded no preload object (static, "
            "set-user-ID, of another machine, with another /proc, or without its "
            "environment): not counted",
            gaps->unloaded, plural(gaps->unloaded, "", "es"));
    }
    put_unarmed(out, first, gaps);
    if (gaps->refusals != 0) {
        add(out, first,
            "%" PRIu64
            " process%s or piece%s of code had no place in the preload objects' "
            "memory: hits there may be outside",
            gaps->refusals, plural(gaps->refusals, "", "es"),
            plural(gaps->refusals, "", "s"));
    }
    if (gaps->lost_rings != 0) {
        add(out, first,
            "no memory or descriptor was left for stacks of %" PRIu64
            " process%s: hits there until its ring was full are missing",
            gaps->lost_rings, plural(gaps->lost_rings, "", "es"));
    }
    if (gaps->denied_rings != 0) {
        add(out, first,
            "a security module, such as SELinux or AppArmor, kept the memory with "
            "stacks of %" PRIu64
            " process%s from ntprof: hits there until it was full are missing",
            gaps->denied_rings, plural(gaps->denied_rings, "", "es"));
    }
    if (gaps->unbelieved != 0 || gaps->too_many_hits) {
        add(out, first,
            "a program wrote into the preload objects' memory%s: the shares cannot be "
            "believed",
            gaps->too_many_hits ? ", which has more hits than the processor time allows"
                                : "");
    }
}

/* Describe the time in which nothing was counted, and intervals.
 * tool/view/report/rates.c searches for "the interval changed". */
static void
put_time(FILE *out, bool *first, const struct collector_gaps *gaps)
{
    if (gaps->counted_ns < gaps->elapsed_ns) {
        add(out, first,
            "counted for %.3f of %.3f s: the rest was left out by --delay, --duration "
            "or --control",
            (double)gaps->counted_ns / 1e9, (double)gaps->elapsed_ns / 1e9);
    }
    if (gaps->interval_changes != 0) {
        add(out, first,
            "the interval changed %" PRIu64 " time%s: hits before and after weigh "
            "differently, and times are by the last one",
            gaps->interval_changes, plural(gaps->interval_changes, "", "s"));
    }
}

/* Describe processes that were still running. */
static void
put_running(FILE *out, bool *first, const struct collector_gaps *gaps, bool interim)
{
    if (gaps->children_run != NULL && gaps->children_run[0] != '\0') {
        add(out, first, "%s", gaps->children_run);
    }
    if (interim) {
        add(out, first, "written while the recording ran: later hits are not in here");
    } else if (gaps->running != 0) {
        add(out, first,
            "%" PRIu64 " process%s that it started still run%s: their later hits are "
            "not in here",
            gaps->running, plural(gaps->running, "", "es"),
            plural(gaps->running, "s", ""));
    }
}

char *
describe_gaps(const struct collector_gaps *gaps, const struct profile *profile,
              bool interim)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);
    bool first = true;

    if (out == NULL) {
        return NULL;
    }
    put_unfollowed(out, &first, gaps, count_lost_records(gaps, profile));
    put_left_out(out, &first, gaps);
    put_kernel(out, &first, profile);
    put_preloaded(out, &first, gaps);
    put_time(out, &first, gaps);
    put_running(out, &first, gaps, interim);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* --- stacks --- */

/* What describe_stacks says of stacks that end so; the size is added to that of
 * STACK_CUT. */
static const char *const end_words[STACK_ENDS] = {
    [STACK_WHOLE] = "whole",
    [STACK_BY_FRAME_POINTER] = "whole by frame pointer",
    [STACK_CUT] = "cut at",
    [STACK_NOT_READABLE] = "not readable",
    [STACK_NO_RULES] = "without unwind rules",
    [STACK_UNSUPPORTED] = "with unwind rules that are not supported",
    [STACK_DEEP] = "deeper than 512 frames",
    [STACK_NOT_RECORDED] = "not recorded",
    [STACK_KERNEL_CUT] = "cut in the kernel",
    [STACK_OTHER] = "given up for room",
};

_Static_assert(STACK_FRAMES_MAX == 512, "in end_words");

static void
put_bytes(struct buffer *line, uint64_t bytes)
{
    if (bytes % 1024 == 0) {
        buffer_print(line, "%" PRIu64 " kB", bytes / 1024);
    } else {
        buffer_print(line, "%" PRIu64 " bytes", bytes);
    }
}

/* Append the share of the hits whose stacks end in one way, of all hits with stacks. */
static void
put_end(struct buffer *line, enum stack_end end, uint64_t hits, uint64_t all,
        uint64_t stack_bytes)
{
    stack_ends_put_share(line, hits, all);
    buffer_append_text(line, end_words[end]);
    if (end == STACK_CUT) {
        buffer_append_text(line, " ");
        put_bytes(line, stack_bytes);
    }
}

bool
describe_stacks(FILE *out, const uint64_t ends[STACK_ENDS], uint64_t stack_bytes,
                uint64_t asked_bytes, uint64_t contexts, uint64_t contexts_max)
{
    const char *before = "stacks: ";
    struct buffer line = {0};
    uint64_t all = 0;
    bool printed;

    for (size_t i = 0; i < STACK_ENDS; i++) {
        all += ends[i];
    }
    for (size_t i = 0; i < STACK_ENDS; i++) {
        if (ends[i] != 0) {
            buffer_append_text(&line, before);
            put_end(&line, (enum stack_end)i, ends[i], all, stack_bytes);
            before = ", ";
        }
    }
    buffer_append_text(&line, all == 0 ? "stacks: none" : "");
    if (stack_bytes < asked_bytes && ends[STACK_CUT] == 0) {
        buffer_append_text(&line, ", ");
        put_bytes(&line, stack_bytes);
        buffer_append_text(&line, " copied of ");
        put_bytes(&line, asked_bytes);
    }
    stack_ends_put_contexts(&line, contexts, contexts_max);
    buffer_append_text(&line, "\n");
    printed = buffer_text(&line) != NULL && fputs(buffer_text(&line), out) >= 0;
    buffer_finish(&line);
    return printed;
}
