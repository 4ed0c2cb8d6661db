/* SPDX-License-Identifier: MIT */
/* recording.c - what run, attach and system share: session, sources, collector, profile
 * file and table. */
#include "record/recording.h"
#include "base/clock.h"
#include "base/message.h"
#include "base/path.h"
#include "base/text.h"
#include "record/describe.h"
#include "record/recording_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- outputs --- */

bool
recording_fail_errno(const struct recording *recording, const char *what,
                     const char *name, int failure)
{
    char shown[256];

    cmd_fail(recording->command, "%s %s: %s", what,
             text_show(shown, sizeof(shown), name), text_errno(failure));
    return false;
}

/* Whether file is the one that a standard stream writes. If it were replaced, the
 * stream would still write to the old file. */
static bool
is_stream_of(const struct stat *file, FILE *stream)
{
    struct stat status;

    return fstat(fileno(stream), &status) == 0 && status.st_dev == file->st_dev &&
           status.st_ino == file->st_ino;
}

/* Open a report that replaces an existing file only when it is complete. */
static bool
recording_open_report_file(struct recording *recording, const char *path)
{
    struct whole_file_error error;

    recording->replaces_report =
        whole_file_check(path, "report", &error) &&
        whole_file_open(&recording->report_file, path, "report", &error);
    if (!recording->replaces_report) {
        cmd_fail(recording->command, "--report: %s", error.text);
        return false;
    }
    recording->report = recording->report_file.stream;
    return true;
}

/* The table is a message for the user, so its default is standard error. JSON was
 * requested for programs, so its default is standard output, unless the command or the
 * profile is written there. */
static FILE *
recording_default_report(const struct record_options *options)
{
    return options->json && !options->syntax->options->program &&
                   strcmp(options->output, "-") != 0
               ? stdout
               : stderr;
}

/* Set recording->report to the stream of --report, or to the default. Returns false
 * after an error line. */
static bool
recording_open_report(struct recording *recording)
{
    const char *const path = recording->options->report;
    struct stat status;
    bool exists;

    recording->report = recording_default_report(recording->options);
    if (path == NULL) {
        return true;
    }
    if (strcmp(path, "-") == 0) {
        recording->report = stdout;
        return true;
    }
    exists = stat(path, &status) == 0;
    if (exists && is_stream_of(&status, stderr)) {
        recording->report = stderr;
        return true;
    }
    if (exists && is_stream_of(&status, stdout)) {
        recording->report = stdout;
        return true;
    }
    return recording_open_report_file(recording, path);
}

/* Whether profile and report would replace each other. A device can take both. */
static bool
is_same_file(const struct record_options *options)
{
    struct stat status;

    return options->report != NULL &&
           (path_is_same_file(options->output, options->report) ||
            (strcmp(options->output, options->report) == 0 &&
             stat(options->report, &status) != 0));
}

/* Check that the files can be written, before anything starts. */
static bool
check_outputs(const struct recording *recording)
{
    const struct record_options *const options = recording->options;
    struct pprof_error error;

    if (is_same_file(options)) {
        cmd_fail(recording->command,
                 "-o and --report name the same file: give each its own");
        return false;
    }
    /* A screen writes a file only when the user asks for it. */
    if (!options->syntax->screen && !pprof_check_writable(options->output, &error)) {
        cmd_fail(recording->command, "-o: %s", error.text);
        return false;
    }
    if (options->every_ns != 0 && !pprof_check_rewritable(options->output, &error)) {
        cmd_fail(recording->command, "--every: %s", error.text);
        return false;
    }
    return true;
}

/* --- opening --- */

/* Reserve a descriptor, which is closed when one is needed. */
static int
spare_open(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Give the spare descriptor free, so that a file can be opened when all others are
 * taken. */
static void
spare_close(int *spare)
{
    if (*spare >= 0) {
        close(*spare);
    }
    *spare = -1;
}

/* With --threads, check that the back end reports whose each hit is. */
static bool
check_threads(const struct recording *recording)
{
    if (recording->options->threads && recording->session != NULL &&
        !NT_SUCCESS(ntprof_session_set_hits(recording->session, NULL, NULL))) {
        cmd_fail(recording->command, "--threads: %s",
                 ntprof_session_error(recording->session));
        return false;
    }
    return true;
}

/* Make the collector, once the session and its sources are known. Returns false after
 * an error line. */
static bool
recording_make_collector(struct recording *recording, bool machine)
{
    const struct record_options *const given = recording->options;
    const bool preloads = recording->session == NULL;
    const struct collector_options options = {
        .session = recording->session,
        .preloaded = &recording->preload.memory,
        .interval_asked = recording->asked_100ns,
        .sources = recording->sources,
        .names = recording->source_names,
        .source_count = given->source_count,
        .bucket_bytes = given->bucket_bytes,
        .affinity = given->affinity,
        .affinity_count = given->affinity_count,
        .per_cpu = given->per_cpu,
        .threads = given->threads,
        .stack_bytes = preloads        ? recording->preload.memory.stack_bytes
                       : given->stacks ? given->stack_bytes
                                       : 0,
        .contexts = given->contexts,
        .region = recording->region.code,
        .kernel = recording->kernel && !given->user_only && given->region == NULL,
        .user = !given->kernel_only,
        .machine = machine,
        .endless = given->syntax->endless,
        .memory_max = given->memory_max,
        .symbols = &recording->names.settings,
    };

    recording->collector = collector_new(&options);
    if (recording->collector == NULL) {
        cmd_fail(recording->command, "out of memory");
    }
    return recording->collector != NULL;
}

void
recording_raise_file_limit(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

bool
recording_open(struct recording *recording, const struct record_options *given,
               bool machine)
{
    *recording = (struct recording){
        .options = given,
        .command = given->command,
        .spare = spare_open(),
        .asked_100ns = given->interval_100ns,
        .control = {.poll_fd = -1, .fifo_fd = -1, .timer_fd = -1, .adapt_fd = -1}};

    if (!check_outputs(recording)) {
        return false;
    }
    if (!given->syntax->screen && !control_open(&recording->control, recording)) {
        return false;
    }
    if (!names_open(&recording->names, recording->command, &given->names,
                    given->quiet)) {
        return false;
    }
    recording_raise_file_limit();
    pace_choose(&recording->pace, given, given->hal);
    if (!recording_find_functions(recording) || !recording_find_region(recording) ||
        !recording_open_session(recording) || !check_threads(recording)) {
        return false;
    }
    for (size_t i = 0; recording->session != NULL && i < given->source_count; i++) {
        if (!recording_find_source(recording, i)) {
            return false;
        }
    }
    return recording_make_collector(recording, machine) &&
           recording_open_report(recording);
}

bool
recording_fall_back(struct recording *recording, const char *why)
{
    ntprof_session_info info = {.size = sizeof(info)};
    char refusal[1024];

    ntprof_session_get_info(recording->session, &info);
    snprintf(refusal, sizeof(refusal), "%s: %s", info.backend, why);
    collector_delete(recording->collector);
    recording->collector = NULL;
    ntprof_session_use(NULL);
    ntprof_session_close(recording->session);
    recording->session = NULL;
    recording->kernel = false;
    return recording_open_preload(recording, refusal) &&
           recording_make_collector(recording, false);
}

/* --- watches --- */

/* Descriptors that recording_begin takes for its threads. */
enum { BEGIN_DESCRIPTORS = 2 };

/* Watch a process, or all if it is NULL. A watch that would leave no descriptors for
 * recording_begin is refused: timers need fewer. */
static NTSTATUS
recording_watch_handle(struct recording *recording, HANDLE process, uint32_t flags)
{
    const struct record_options *const given = recording->options;
    const ntprof_watch_options options = {
        .size = sizeof(options),
        .flags = flags,
        .source_count = (uint32_t)given->source_count,
        .sources = recording->sources,
        .affinity = given->affinity_count != 0 ? given->affinity : NULL,
        .affinity_count = given->affinity_count,
    };
    int held[BEGIN_DESCRIPTORS];
    NTSTATUS status;

    for (size_t i = 0; i < BEGIN_DESCRIPTORS; i++) {
        held[i] = eventfd(0, EFD_CLOEXEC);
    }
    status = ntprof_session_watch(recording->session, process, &options);
    for (size_t i = 0; i < BEGIN_DESCRIPTORS; i++) {
        spare_close(&held[i]);
    }
    return status;
}

static const char *
recording_why(const struct recording *recording, NTSTATUS status)
{
    const char *const why = ntprof_session_error(recording->session);

    return NT_SUCCESS(status) || why[0] == '\0' ? ntprof_status_text(status) : why;
}

NTSTATUS
recording_watch(struct recording *recording, uint32_t pid, uint32_t flags,
                const char **why)
{
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(uintptr_t)pid};
    HANDLE process;
    NTSTATUS status = NtOpenProcess(&process, PROCESS_QUERY_INFORMATION, NULL, &client);

    if (NT_SUCCESS(status)) {
        status = recording_watch_handle(recording, process, flags);
        NtClose(process);
    }
    *why = recording_why(recording, status);
    return status;
}

NTSTATUS
recording_watch_all(struct recording *recording, const char **why)
{
    const NTSTATUS status = recording_watch_handle(recording, /* process */ NULL, 0);

    *why = recording_why(recording, status);
    return status;
}

/* --- description --- */

/* Add how long the recording took, and for how much of that it counted. */
static void
recording_describe_time(const struct recording *recording, struct collector_gaps *gaps,
                        bool interim)
{
    gaps->interval_changes = recording->interval_changes;
    gaps->elapsed_ns = interim ? clock_now_ns() - recording->start_monotonic_ns
                               : recording->duration_ns;
    gaps->counted_ns =
        recording->control.changed
            ? control_counted_ns(&recording->control,
                                 recording->start_monotonic_ns + gaps->elapsed_ns)
            : gaps->elapsed_ns;
}

/* Return the index of source time, or the number of sources if it is not recorded. */
static size_t
recording_time_source(const struct recording *recording)
{
    size_t at = 0;

    while (at < recording->options->source_count &&
           !record_source_is_time(recording->options->sources[at])) {
        at++;
    }
    return at;
}

/* Describe what limits the back end, and the interval. If the guard lengthened the
 * interval, the profile says the one before that as asked for. */
static char *
recording_describe_limits(const struct recording *recording, struct profile *profile,
                          const ntprof_session_info *info)
{
    const size_t at = recording_time_source(recording);
    char pace[256] = "";

    if (at < profile->source_count) {
        pace_describe(&recording->pace, profile->sources[at].granted, pace,
                      sizeof(pace));
        if (recording->pace.reason == PACE_GUARD ||
            recording->pace.reason == PACE_UNMEASURED) {
            profile->sources[at].asked = recording->asked_100ns;
        }
    }
    return describe_limits(info, pace, recording->options);
}

/* Describe the stacks of source time, if they were recorded. */
static void
recording_describe_stacks(const struct recording *recording, struct profile *profile,
                          const ntprof_session_info *info, uint64_t contexts)
{
    const size_t at = recording_time_source(recording);

    if (recording->options->stacks && at < profile->source_count) {
        profile->sources[at].stack_bytes = info->stack_bytes;
        profile->sources[at].contexts = contexts;
        profile->sources[at].contexts_max = recording->options->contexts;
    }
}

/* Get what is known of the way in which hits are made. */
static void
recording_get_info(const struct recording *recording, ntprof_session_info *info)
{
    if (recording->session != NULL) {
        ntprof_session_get_info(recording->session, info);
        return;
    }
    snprintf(info->backend, sizeof(info->backend), "timer");
    info->stack_bytes = recording->preload.memory.stack_bytes;
    preload_describe(&recording->preload, info->limits, sizeof(info->limits));
}

/* Add what is known of the recording as a whole. Takes ownership of the profile, which
 * may be NULL. */
static struct profile *
recording_describe(const struct recording *recording, struct profile *profile,
                   struct collector_gaps *gaps, bool interim)
{
    ntprof_session_info info = {.size = sizeof(info)};

    if (profile == NULL) {
        return NULL;
    }
    if (!recording->children) {
        gaps->running = 0; /* these are not expected to exit */
    }
    recording_get_info(recording, &info);
    gaps->unread = info.unread;
    gaps->children_run = recording->children_run;
    recording_describe_time(recording, gaps, interim);
    recording_describe_stacks(recording, profile, &info, gaps->contexts);
    profile->command = describe_command(recording->words);
    profile->hal = strdup(info.backend);
    profile->limits = recording_describe_limits(recording, profile, &info);
    profile->gaps = describe_gaps(gaps, profile, interim);
    profile->time_ns = recording->start_ns;
    profile->duration_ns = gaps->counted_ns;
    profile->symbolized = !recording->options->names.no_lines;
    if (profile->command == NULL || profile->hal == NULL || profile->limits == NULL ||
        profile->gaps == NULL) {
        profile_delete(profile);
        return NULL;
    }
    return profile;
}

/* Make a profile of all hits until now; interim if the recording goes on. Returns NULL
 * if memory runs out. */
static struct profile *
recording_collect(struct recording *recording, bool interim)
{
    struct collector_gaps gaps;
    struct profile *const profile = collector_snapshot(recording->collector, &gaps);

    if (!interim) {
        memcpy(recording->stack_ends, gaps.stack_ends, sizeof(recording->stack_ends));
        recording->contexts = gaps.contexts;
    }
    return recording_describe(recording, profile, &gaps, interim);
}

bool
recording_print_stacks(const struct recording *recording)
{
    ntprof_session_info info = {.size = sizeof(info)};

    if (!recording->options->stacks) {
        return true;
    }
    recording_get_info(recording, &info);
    return describe_stacks(recording->report, recording->stack_ends, info.stack_bytes,
                           recording->options->stack_bytes, recording->contexts,
                           recording->options->contexts);
}

/* --- writing --- */

struct profile *
recording_repeat(struct recording *recording)
{
    struct collector_gaps gaps;
    struct profile *const profile = collector_repeat(recording->collector, &gaps);

    return recording_describe(recording, profile, &gaps, /* interim */ true);
}

/* Keep the file from before the recording as FILE.old, but not those that this
 * recording wrote. */
bool
recording_write(struct recording *recording, const struct profile *profile,
                struct pprof_error *error)
{
    bool written;

    spare_close(&recording->spare);
    written =
        pprof_rewrite(profile, recording->options->output, &recording->written, error);
    recording->spare = spare_open();
    return written;
}

/* Write the profile so far. Runs on the keeper's thread. */
bool
recording_snapshot(struct recording *recording, struct pprof_error *error)
{
    struct profile *profile;
    bool written;

    if (!pprof_check_rewritable(recording->options->output, error)) {
        return false;
    }
    if (recording->session != NULL) {
        ntprof_session_use(recording->session);
    }
    profile = recording_collect(recording, /* interim */ true);
    if (profile == NULL) {
        *error = (struct pprof_error){.text = "out of memory for the profile"};
        return false;
    }
    written = recording_write(recording, profile, error);
    profile_delete(profile);
    return written;
}

bool
recording_can_snapshot(const struct recording *recording)
{
    struct pprof_error error;

    return pprof_check_rewritable(recording->options->output, &error);
}

/* Write the profile so far, as --every asks. Runs on the keeper's thread. */
static void
recording_rewrite(void *context)
{
    struct recording *const recording = context;
    struct pprof_error error;

    if (!recording_snapshot(recording, &error) && !recording->rewrite_reported) {
        recording->rewrite_reported = true;
        cmd_fail(recording->command, "--every: %s; %s it is tried again each time",
                 error.text,
                 recording->written ? "the file is as it was before, and"
                                    : "there is no file of this run yet, and");
    }
}

/* --- while it runs --- */

/* Obey what arrived to control the recording: a line of --control, SIGUSR2, or the end
 * of a time (control.h). Runs on the keeper's thread. */
static void
recording_control(void *context)
{
    struct recording *const recording = context;

    control_handle(&recording->control);
}

/* Have the session use the interval of a pace, which becomes that of the recording if
 * the session takes it. */
static bool
recording_apply_pace(struct recording *recording, const struct pace *pace,
                     uint64_t *granted_100ns)
{
    const size_t at = recording_time_source(recording);

    if (!collector_set_interval(recording->collector, at, pace->interval_100ns,
                                granted_100ns)) {
        return false;
    }
    recording->pace = *pace;
    recording->interval_changes++;
    return true;
}

bool
recording_set_interval(struct recording *recording, uint64_t interval_100ns,
                       uint64_t *granted_100ns)
{
    struct pace pace = recording->pace;

    if (recording_time_source(recording) == recording->options->source_count) {
        return false;
    }
    pace_change(&pace, interval_100ns);
    if (!recording_apply_pace(recording, &pace, granted_100ns)) {
        return false;
    }
    recording->asked_100ns = interval_100ns;
    return true;
}

void
recording_adapt(struct recording *recording)
{
    ntprof_source_info time = {.size = sizeof(time)};
    struct pace pace = recording->pace;
    struct pace_sample now;
    uint64_t granted;

    if (!collector_get_source(recording->collector, recording_time_source(recording),
                              &time)) {
        return;
    }
    now = (struct pace_sample){
        .expected = time.expected, .taken = time.taken, .missed = time.missed};
    if (!pace_adapt(&pace, &now)) {
        recording->pace = pace;
    } else { /* if it is refused, the next adaptation tries again */
        (void)recording_apply_pace(recording, &pace, &granted);
    }
}

uint64_t
recording_limit_ns(const struct recording *recording)
{
    const struct record_options *const options = recording->options;
    uint64_t limit_ns;

    if (options->duration_ns == 0) {
        return 0;
    }
    return __builtin_add_overflow(options->start_delay_ns, options->duration_ns,
                                  &limit_ns)
               ? UINT64_MAX
               : limit_ns;
}

/* --- begin and end --- */

bool
recording_begin(struct recording *recording, char **words)
{
    const struct keeper_work work = {
        .collector = recording->collector,
        .every_ns = recording->options->every_ns,
        .rewrite = recording_rewrite,
        .control_fd = recording->control.poll_fd,
        .control = recording_control,
        .context = recording,
    };
    int failure = 0;

    recording->words = words;
    recording->start_ns = clock_ns(CLOCK_REALTIME);
    recording->start_monotonic_ns = clock_now_ns();
    if (!recording->options->syntax->screen) {
        failure = control_begin(&recording->control);
    }
    if (failure == 0) {
        failure = collector_start(recording->collector);
    }
    if (failure == 0) {
        failure = keeper_start(&recording->keeper, &work);
    }
    if (failure != 0) {
        cmd_fail(recording->command, "cannot start a thread: %s",
                 failure == -EAGAIN
                     ? "too little memory for its stack, or too many threads; raise "
                       "RLIMIT_AS, RLIMIT_NPROC or the control group's pids.max"
                     : text_errno(-failure));
    }
    return failure == 0;
}

void
recording_end(struct recording *recording)
{
    recording->duration_ns = clock_now_ns() - recording->start_monotonic_ns;
    collector_stop(recording->collector);
    keeper_stop(&recording->keeper);
}

/* --- results --- */

static void
recording_print_path(const struct recording *recording)
{
    const char *const path = recording->options->output;
    struct stat status;
    char shown[256];

    if (strcmp(path, "-") == 0) {
        fputs("profile on standard output\n", recording->report);
        return;
    }
    text_show(shown, sizeof(shown), path);
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
        fprintf(recording->report, "profile in %s; see it again: ntprof report %s\n",
                shown, shown);
    } else {
        fprintf(recording->report, "profile in %s\n", shown);
    }
}

/* Print the report. Standard error has no buffer, so that what goes there is put into
 * memory and written at once: other programs' lines cannot come between. Returns what
 * print does. */
static bool
recording_print_report(struct recording *recording, const struct profile *profile,
                       recording_print *print)
{
    FILE *const end = recording->report;
    char *text = NULL;
    size_t size;
    bool printed;
    int failure;

    recording->report_end = end;
    if (end != stderr) {
        return print(recording, profile) && fflush(end) == 0;
    }
    recording->report = open_memstream(&text, &size);
    if (recording->report == NULL) {
        recording->report = end;
        return false;
    }
    printed = print(recording, profile);
    printed = fclose(recording->report) == 0 && printed;
    recording->report = end;
    printed = printed && whole_file_write(STDERR_FILENO, text, size);
    failure = errno;
    free(text);
    errno = failure;
    return printed;
}

bool
recording_conclude(struct recording *recording, recording_print *print)
{
    struct profile *const profile = recording_collect(recording, /* interim */ false);
    bool printed;

    if (profile == NULL) {
        cmd_fail(recording->command, "out of memory: the hits cannot be reported");
        return false;
    }
    printed = recording_print_report(recording, profile, print);
    profile_delete(profile);
    return printed;
}

/* Print why the report cannot be written; errno has the reason, 0: memory ran out. */
static void
recording_fail_report(const struct recording *recording)
{
    const char *const path = recording->options->report;
    const char *const why = strerror(errno != 0 ? errno : ENOMEM);
    char shown[200];

    if (path == NULL) {
        cmd_fail(recording->command, "cannot write the report: %s", why);
    } else {
        cmd_fail(recording->command, "--report: %s: cannot write the report: %s",
                 text_show(shown, sizeof(shown), path), why);
    }
}

/* Rename the report into place if it is a file and was printed completely; otherwise
 * the old one stays. EPIPE is no error: the reader closed the pipe. */
static bool
recording_end_report(struct recording *recording, bool printed)
{
    struct whole_file_error error;

    if (!printed && errno == EPIPE) {
        return true;
    }
    if (!printed) {
        recording_fail_report(recording);
    }
    if (!printed || !recording->replaces_report) {
        return printed;
    }
    spare_close(&recording->spare);
    recording->replaces_report = false;
    recording->report = NULL;
    if (!whole_file_replace(&recording->report_file, /* keep_it */ false, &error) &&
        errno != EPIPE) {
        cmd_fail(recording->command, "--report: %s", error.text);
        return false;
    }
    return true;
}

/* Write the profile beside a path that can no longer be written, which another user may
 * have caused since the run started. Its name is that of the file and the process's
 * pid. Returns whether it is written, after a line that says where. */
static bool
recording_write_beside(struct recording *recording, const struct profile *profile,
                       const char *why)
{
    struct pprof_error error;
    char *path = NULL;
    char shown[256];
    bool written;

    if (strcmp(recording->options->output, "-") == 0 ||
        asprintf(&path, "%s.%d", recording->options->output, (int)getpid()) < 0) {
        return false;
    }
    written = pprof_write(profile, path, &error);
    if (written) {
        cmd_fail(recording->command, "-o: %s; the profile is in %s", why,
                 text_show(shown, sizeof(shown), path));
    }
    free(path);
    return written;
}

/* --- delivery and close --- */

/* Write the profile and print its table: the file first, as the table may have no
 * reader. */
bool
recording_deliver(struct recording *recording, recording_print *print)
{
    struct profile *profile;
    struct pprof_error error;
    bool written;
    bool printed = true;

    names_begin(&recording->names);
    profile = recording_collect(recording, /* interim */ false);
    names_end(&recording->names);
    if (profile == NULL) {
        cmd_fail(recording->command, "out of memory: the profile is lost");
        return false;
    }
    written = recording_write(recording, profile, &error);
    /* A file named by --report is written even with --quiet. */
    if (!recording->options->quiet || recording->options->report != NULL) {
        printed = recording_print_report(recording, profile, print);
    }
    if (written && printed && !recording->options->quiet && !recording->options->json) {
        recording_print_path(recording);
    }
    printed = recording_end_report(recording, printed);
    if (!written && !recording_write_beside(recording, profile, error.text)) {
        cmd_fail(recording->command, "-o: %s", error.text);
    }
    profile_delete(profile);
    return written && printed;
}

void
recording_close(struct recording *recording)
{
    if (recording->command == NULL) {
        return; /* its descriptors are zero, which is standard input */
    }
    if (recording->replaces_report) {
        whole_file_discard(&recording->report_file);
    } else if (recording->report != NULL && recording->report != stderr &&
               recording->report != stdout) {
        fclose(recording->report); /* it was flushed, and errors were reported */
    }
    keeper_stop(&recording->keeper);
    control_close(&recording->control);
    spare_close(&recording->spare);
    collector_delete(recording->collector);
    names_close(&recording->names);
    for (size_t i = 0; i < RECORD_SOURCES_MAX; i++) {
        function_source_finish(&recording->functions[i]);
    }
    region_finish(&recording->region);
    preload_close(&recording->preload);
    ntprof_session_use(NULL);
    ntprof_session_close(recording->session);
}
