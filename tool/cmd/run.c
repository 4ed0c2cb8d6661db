/* SPDX-License-Identifier: MIT */
/*
 * cmd/run.c - ntprof run: the main job, through the public interface alone.
 *
 * The order matters: everything that can fail is tried before the command starts; the command is
 * forked, watched, and only then let go, so that nothing of it is missed.
 */
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/run_options.h"
#include "cmd/terminal.h"
#include "collect/collector.h"
#include "profile/pprof.h"
#include "report/report.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct run {
    struct run_options options;
    ntprof_session *session;
    KPROFILE_SOURCE sources[RUN_SOURCES_MAX];
    bool kernel; /* some source counts in the kernel */
    struct collector *collector;
    FILE *report;
    struct child child;
    uint64_t start_ns; /* CLOCK_REALTIME */
    uint64_t begun_ns; /* CLOCK_MONOTONIC */
    uint64_t duration_ns;
};

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool
run_fail_errno(const char *what, const char *name, int failure)
{
    char shown[256];

    cmd_fail("run", "%s %s: %s", what, text_show(shown, sizeof(shown), name),
             strerror(failure));
    return false;
}

/* Each back end that was tried, with what refused it and what would allow it. */
static void
run_explain_backends(const struct run_options *options)
{
    ntprof_backend_info info = {.size = sizeof(info)};

    cmd_fail("run", "no way to get hits works here:");
    for (uint32_t i = 0; NT_SUCCESS(ntprof_backend_next(i, &info)); i++) {
        const bool tried = options->hal == NULL || strcmp(options->hal, info.name) == 0;

        if (tried && !info.usable) {
            cmd_fail("run", "%s: %s; %s", info.name, info.reason, info.remedy);
        }
    }
}

/* Which source it was that no session knows: one without intervals is asked. */
static const char *
run_unknown_source(const struct run *run)
{
    const ntprof_session_options options = {.size = sizeof(options),
                                            .backend = run->options.hal};
    const char *unknown = "?";
    ntprof_session *session;
    KPROFILE_SOURCE source;

    if (!NT_SUCCESS(ntprof_session_open(&options, &session))) {
        return unknown;
    }
    for (size_t i = run->options.source_count; i > 0; i--) {
        const char *const name = run->options.sources[i - 1];

        if (!NT_SUCCESS(ntprof_source_lookup(session, name, &source))) {
            unknown = name;
        }
    }
    ntprof_session_close(session);
    return unknown;
}

static bool
run_open_session(struct run *run)
{
    ntprof_source_interval intervals[RUN_SOURCES_MAX];
    ntprof_session_options options = {
        .size = sizeof(options), .backend = run->options.hal, .intervals = intervals};
    char shown[120];
    NTSTATUS status;

    for (size_t i = 0; i < run->options.source_count; i++) {
        const char *const name = run->options.sources[i];
        const uint64_t interval = run_source_is_time(name) ? run->options.interval_100ns
                                                           : run->options.events;

        if (interval != 0) {
            intervals[options.interval_count++] =
                (ntprof_source_interval){.source = name, .interval = interval};
        }
    }
    status = ntprof_session_open(&options, &run->session);
    if (status == STATUS_NOT_SUPPORTED) {
        run_explain_backends(&run->options);
        return false;
    }
    if (status == STATUS_INVALID_PARAMETER) {
        cmd_fail("run",
                 "-e '%s': unknown, or its parameter is bad; see: ntprof sources",
                 text_show(shown, sizeof(shown), run_unknown_source(run)));
        return false;
    }
    if (!NT_SUCCESS(status)) {
        cmd_fail("run", "cannot open a session: %s", ntprof_status_text(status));
        return false;
    }
    ntprof_session_use(run->session);
    return true;
}

static bool
run_find_source(struct run *run, size_t at)
{
    const char *const name = run->options.sources[at];
    ntprof_source_info info = {.size = sizeof(info)};
    char shown[120];
    NTSTATUS status = ntprof_source_lookup(run->session, name, &run->sources[at]);

    text_show(shown, sizeof(shown), name);
    if (!NT_SUCCESS(status)) {
        const char *const reason = ntprof_session_error(run->session);

        cmd_fail("run", "-e '%s': %s; see: ntprof sources", shown,
                 reason[0] != '\0' ? reason : ntprof_status_text(status));
        return false;
    }
    for (size_t i = 0; i < at; i++) {
        if (run->sources[i] == run->sources[at]) {
            cmd_fail("run", "-e '%s': given twice", shown);
            return false;
        }
    }
    status = ntprof_source_get(run->session, run->sources[at], &info);
    if (!NT_SUCCESS(status) || !info.supported) {
        cmd_fail("run", "-e '%s': %s; see: ntprof sources", shown,
                 NT_SUCCESS(status) ? info.reason : ntprof_status_text(status));
        return false;
    }
    run->kernel = run->kernel || info.kernel_included != 0;
    return true;
}

static bool
run_open_report(struct run *run)
{
    const char *const path = run->options.report;

    run->report = stderr;
    if (path == NULL) {
        return true;
    }
    if (strcmp(path, "-") == 0) {
        run->report = stdout;
        return true;
    }
    run->report = fopen(path, "we");
    return run->report != NULL || run_fail_errno("--report: cannot write", path, errno);
}

/* The profile and the report would replace one another. Devices take both. */
static bool
run_is_same_file(const struct run_options *options)
{
    struct stat output;
    struct stat report;

    if (options->report == NULL) {
        return false;
    }
    if (strcmp(options->output, options->report) == 0) {
        return stat(options->report, &report) != 0 || S_ISREG(report.st_mode);
    }
    return stat(options->output, &output) == 0 && stat(options->report, &report) == 0 &&
           S_ISREG(output.st_mode) && output.st_dev == report.st_dev &&
           output.st_ino == report.st_ino;
}

/* All that can be known to fail before the command starts. */
static bool
run_prepare(struct run *run)
{
    struct collector_options options = {.source_count = run->options.source_count};
    struct pprof_error error;

    if (run_is_same_file(&run->options)) {
        cmd_fail("run", "-o and --report name the same file: give each its own");
        return false;
    }
    if (!pprof_check_writable(run->options.output, &error)) {
        cmd_fail("run", "-o: %s", error.text);
        return false;
    }
    if (!run_open_session(run)) {
        return false;
    }
    for (size_t i = 0; i < run->options.source_count; i++) {
        if (!run_find_source(run, i)) {
            return false;
        }
    }
    options.session = run->session;
    options.sources = run->sources;
    options.bucket_bytes = run->options.bucket_bytes;
    options.affinity = run->options.affinity;
    options.affinity_count = run->options.affinity_count;
    options.kernel = run->kernel;
    run->collector = collector_new(&options);
    if (run->collector == NULL) {
        cmd_fail("run", "out of memory");
        return false;
    }
    return run_open_report(run);
}

static bool
run_watch(struct run *run)
{
    const ntprof_watch_options options = {
        .size = sizeof(options),
        .flags = NTPROF_WATCH_DESCENDANTS | NTPROF_WATCH_ON_EXEC,
        .source_count = (uint32_t)run->options.source_count,
        .sources = run->sources,
        .affinity = run->options.affinity_count != 0 ? run->options.affinity : NULL,
        .affinity_count = run->options.affinity_count,
    };
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(uintptr_t)run->child.pid};
    HANDLE process;
    NTSTATUS status = NtOpenProcess(&process, PROCESS_QUERY_INFORMATION, NULL, &client);

    if (NT_SUCCESS(status)) {
        ntprof_session_set_notify(run->session, collector_notify, run->collector);
        status = ntprof_session_watch(run->session, process, &options);
        NtClose(process);
    }
    if (!NT_SUCCESS(status)) {
        const char *const reason = ntprof_session_error(run->session);

        cmd_fail("run", "cannot profile a process: %s",
                 reason[0] != '\0' ? reason : ntprof_status_text(status));
        return false;
    }
    return true;
}

/* Starts the command, watched. Else the exit status is in *exit_status. */
static bool
run_start(struct run *run, int *exit_status)
{
    char **const command = run->options.command;
    int failure = child_fork(&run->child, command);

    *exit_status = CMD_FAILED;
    if (failure < 0) {
        return run_fail_errno("cannot start", command[0], -failure);
    }
    if (!run_watch(run)) {
        child_abandon(&run->child);
        return false;
    }
    run->start_ns = clock_ns(CLOCK_REALTIME);
    run->begun_ns = clock_ns(CLOCK_MONOTONIC);
    failure = child_exec(&run->child);
    if (failure < 0) {
        *exit_status = failure == -ENOENT ? CMD_NOT_FOUND : CMD_NOT_EXECUTABLE;
        return run_fail_errno("cannot run", command[0], -failure);
    }
    return true;
}

/* The words with blanks between; a command line may have a hundred thousand of them. */
static char *
join_command(char **command)
{
    size_t bytes = 0;
    char *text;
    char *end;

    for (char **word = command; *word != NULL; word++) {
        bytes += strlen(*word) + 1;
    }
    text = malloc(bytes);
    end = text;
    for (char **word = command; text != NULL && *word != NULL; word++) {
        end = stpcpy(end, *word);
        *end++ = word[1] != NULL ? ' ' : '\0';
    }
    return text;
}

/* Why no better back end, and what this one may not do. */
static char *
describe_limits(const ntprof_session_info *info)
{
    char *text;
    const char *const between =
        info->better[0] != '\0' && info->limits[0] != '\0' ? "; " : "";

    return asprintf(&text, "%s%s%s", info->better, between, info->limits) < 0 ? NULL
                                                                              : text;
}

/* Records lost that were no hits: they told of mappings, threads and processes. */
static uint64_t
count_untold(const struct run *run, const struct profile *profile)
{
    const uint64_t lost = collector_records_lost(run->collector);
    uint64_t hits = 0;

    for (size_t i = 0; i < profile->source_count; i++) {
        hits += profile->sources[i].lost;
    }
    return lost > hits ? lost - hits : 0;
}

/* What was not profiled at all, or perhaps for another. */
static char *
describe_gaps(const struct run *run, const struct profile *profile)
{
    NTSTATUS first;
    const uint64_t failures = collector_failures(run->collector, &first);
    const uint64_t unfollowed = collector_unfollowed(run->collector);
    const uint64_t running = collector_running(run->collector);
    const uint64_t untold = count_untold(run, profile);
    const char *between = "";
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);

    if (out == NULL) {
        return NULL;
    }
    if (failures != 0) {
        fprintf(out, "%" PRIu64 " mappings could not be profiled: %s", failures,
                ntprof_status_text(first));
        between = "; ";
    }
    if (untold != 0) {
        fprintf(out,
                "%s%" PRIu64
                " records of mappings and threads were lost: hits there may "
                "be outside or have wrong names",
                between, untold);
        between = "; ";
    }
    if (unfollowed != 0) {
        fprintf(out,
                "%s%" PRIu64
                " program%s could not be followed, being set-uid or unreadable; to "
                "allow it, run ntprof as root",
                between, unfollowed, unfollowed == 1 ? "" : "s");
        between = "; ";
    }
    if (running != 0) {
        fprintf(out,
                "%s%" PRIu64
                " process%s that it started still run%s: what comes from now on is not "
                "in here",
                between, running, running == 1 ? "" : "es", running == 1 ? "s" : "");
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static struct profile *
run_collect(struct run *run)
{
    ntprof_session_info info = {.size = sizeof(info)};
    struct profile *const profile = collector_finish(run->collector);

    if (profile == NULL) {
        return NULL;
    }
    ntprof_session_get_info(run->session, &info);
    profile->command = join_command(run->options.command);
    profile->hal = strdup(info.backend);
    profile->honesty = describe_limits(&info);
    profile->gaps = describe_gaps(run, profile);
    profile->time_ns = run->start_ns;
    profile->duration_ns = run->duration_ns;
    if (profile->command == NULL || profile->hal == NULL || profile->honesty == NULL ||
        profile->gaps == NULL) {
        profile_delete(profile);
        return NULL;
    }
    return profile;
}

static bool
run_print(const struct run *run, const struct profile *profile)
{
    struct report_options options = {
        .key = REPORT_BY_FUNCTION,
        .format = run->options.json ? REPORT_JSON : REPORT_TABLE,
        .rows = run->options.rows,
    };

    terminal_fit(run->report, &options);
    return report_print(run->report, profile, &options) && fflush(run->report) == 0;
}

static void
run_say_where(const struct run *run)
{
    char shown[256];

    if (strcmp(run->options.output, "-") == 0) {
        fputs("profile on standard output\n", run->report);
    } else {
        fprintf(run->report, "profile in %s; see it again: ntprof report %s\n",
                text_show(shown, sizeof(shown), run->options.output), shown);
    }
}

/* File and table; each is tried although the other failed. The file first: it is what is kept
 * should nobody read the table. */
static bool
run_deliver(struct run *run)
{
    struct profile *const profile = run_collect(run);
    struct pprof_error error;
    bool written;
    bool printed = true;

    if (profile == NULL) {
        cmd_fail("run", "out of memory: the profile is lost");
        return false;
    }
    written = pprof_write(profile, run->options.output, &error);
    if (!run->options.quiet) {
        printed = run_print(run, profile);
    }
    if (!printed) {
        cmd_fail("run", "cannot write the report: %s", strerror(errno));
    }
    if (!written) {
        cmd_fail("run", "-o: %s", error.text);
    } else if (!run->options.quiet && !run->options.json) {
        run_say_where(run);
    }
    profile_delete(profile);
    return written && printed;
}

static void
run_finish(struct run *run)
{
    if (run->report != NULL && run->report != stderr && run->report != stdout) {
        fclose(run->report); /* was flushed, and its errors told */
    }
    collector_delete(run->collector);
    ntprof_session_use(NULL);
    ntprof_session_close(run->session);
    run_options_finish(&run->options);
}

int
cmd_run(int argc, char **argv)
{
    struct run run = {0};
    int exit_status = CMD_FAILED;
    bool ran;

    child_prepare();
    if (!run_options_parse(&run.options, argc, argv)) {
        run_options_finish(&run.options);
        return CMD_FAILED;
    }
    if (run.options.help) {
        run_options_finish(&run.options);
        return cmd_print_help("run") ? CMD_OK : CMD_FAILED;
    }
    ran = run_prepare(&run) && run_start(&run, &exit_status);
    if (ran) {
        child_wait(&run.child);
        run.duration_ns = clock_ns(CLOCK_MONOTONIC) - run.begun_ns;
        (void)run_deliver(&run); /* the command's status is passed on all the same */
    }
    run_finish(&run);
    return ran ? child_pass_on(&run.child) : exit_status;
}
