/* SPDX-License-Identifier: MIT */
/* targets.c - finds and watches the processes of attach and top. */
#include "record/targets.h"
#include "base/clock.h"
#include "base/message.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rounds in which children are searched for, since those that are not watched yet may
 * fork before they are: a storm of forks would never end. */
enum { CHILD_ROUNDS_MAX = 20 };

/* Numbers of processes in a line; the others are counted. */
enum { PIDS_SHOWN = 10, CHILDREN_SHOWN = 3 };

static const char all_ended[] =
    "all that were called so ended before they could be attached to";

/* --- finding --- */

/* Read a number from /proc/PID/status; format is a scanf format of its line. */
static bool
read_status(uint32_t pid, const char *format, uint32_t *number)
{
    char line[256];
    bool found = false;
    FILE *status;

    snprintf(line, sizeof(line), "/proc/%" PRIu32 "/status", pid);
    status = fopen(line, "re");
    while (status != NULL && !found && fgets(line, sizeof(line), status) != NULL) {
        found = sscanf(line, format, number) == 1;
    }
    if (status != NULL) {
        fclose(status);
    }
    return found;
}

/* Print why a process that was given by its number cannot be opened; failure is an
 * errno. Returns false, so that callers can return its value. */
static bool
fail_to_find(const struct targets *targets, uint32_t pid, int failure)
{
    const char *const command = targets->options->command;
    uint32_t process;

    if (read_status(pid, "Tgid: %" SCNu32, &process) && process != pid) {
        cmd_fail(command,
                 "-p %" PRIu32 ": is a thread of process %" PRIu32
                 "; threads are not profiled alone, try: -p %" PRIu32,
                 pid, process, process);
    } else if (failure == ESRCH) {
        cmd_fail(command, "-p %" PRIu32 ": no such process", pid);
    } else {
        cmd_fail(command, "-p %" PRIu32 ": pidfd_open: %s", pid, text_errno(failure));
    }
    return false;
}

/* Make room for one more target. Returns false after an error line if memory runs
 * out. */
static bool
make_room(struct targets *targets)
{
    if (targets->count == targets->capacity) {
        const size_t capacity = targets->capacity == 0 ? 16 : targets->capacity * 2;
        struct target *const items =
            reallocarray(targets->items, capacity, sizeof(*items));
        int *fds;

        if (items != NULL) {
            targets->items = items;
        }
        fds = reallocarray(targets->fds, capacity, sizeof(*fds));
        if (fds != NULL) {
            targets->fds = fds;
        }
        if (items == NULL || fds == NULL) {
            cmd_fail(targets->options->command, "out of memory");
            return false;
        }
        targets->capacity = capacity;
    }
    return true;
}

/* Add a process. Returns false if it cannot be opened, with its errno, or if memory
 * runs out, with errno 0 and after an error line. */
static bool
add_target(struct targets *targets, const struct target *target)
{
    int fd;

    if (!make_room(targets)) {
        errno = 0;
        return false;
    }
    fd = (int)syscall(SYS_pidfd_open, (pid_t)target->pid, 0);
    if (fd < 0) {
        return false;
    }
    targets->items[targets->count] = *target;
    targets->fds[targets->count++] = fd;
    return true;
}

/* Remove a target, and close its descriptor. */
static void
remove_target(struct targets *targets, size_t at)
{
    const size_t behind = --targets->count - at;

    close(targets->fds[at]);
    memmove(&targets->fds[at], &targets->fds[at + 1], behind * sizeof(*targets->fds));
    memmove(&targets->items[at], &targets->items[at + 1],
            behind * sizeof(*targets->items));
}

/* Add a process that is given by its number. Returns false after an error line. */
static bool
add_number(struct targets *targets, uint32_t pid)
{
    const struct target target = {.pid = pid, .kind = TARGET_NUMBER};
    const char *const command = targets->options->command;

    if (pid == (uint32_t)getpid()) {
        cmd_fail(command, "-p %" PRIu32 ": is ntprof itself", pid);
        return false;
    }
    if (!add_target(targets, &target)) {
        return errno != 0 && fail_to_find(targets, pid, errno);
    }
    if (targets_ended(targets, targets->count - 1)) {
        cmd_fail(command, "-p %" PRIu32 ": has ended already, and waits for its parent",
                 pid);
        return false;
    }
    return true;
}

/* Print why no process of a name can be profiled. Returns false. */
static bool
refuse_name(const struct targets *targets, const char *name, const char *why)
{
    char shown[200];

    cmd_fail(targets->options->command, "%s: cannot be profiled: %s",
             text_show(shown, sizeof(shown), name), why);
    return false;
}

/* Add a process that was found by its name; one that has ended since then is left out.
 * last is that of the name. Returns false after an error line, also if all of the name
 * have ended. */
static bool
add_name(struct targets *targets, uint32_t pid, const char *name, bool last)
{
    const struct target target = {.pid = pid, .kind = TARGET_NAME, .name = name};
    char why[200];

    if (!add_target(targets, &target)) {
        const int failure = errno;

        if (failure != ESRCH) {
            snprintf(why, sizeof(why), "process %" PRIu32 ": pidfd_open: %s", pid,
                     text_errno(failure));
            return failure != 0 && refuse_name(targets, name, why);
        }
    }
    return !last ||
           (targets->count > 0 && targets->items[targets->count - 1].name == name) ||
           refuse_name(targets, name, all_ended);
}

bool
targets_open(struct targets *targets, const struct record_options *options)
{
    *targets = (struct targets){.options = options};
    recording_raise_file_limit();
    for (size_t i = 0; i < options->pid_count; i++) {
        const char *const name = options->pid_names[i];
        const bool last =
            i + 1 == options->pid_count || options->pid_names[i + 1] != name;

        if (!(name != NULL ? add_name(targets, options->pids[i], name, last)
                           : add_number(targets, options->pids[i]))) {
            return false;
        }
    }
    return true;
}

/* --- watching --- */

/* noted - the processes that a line of output is about. */
struct noted {
    char pids[PIDS_SHOWN * 12]; /* the first of them, with commas between */
    size_t count;
};

/* Note a process: all are counted, the first PIDS_SHOWN are named. */
static void
note_process(struct noted *noted, uint32_t pid)
{
    const size_t length = strlen(noted->pids);

    if (noted->count++ < PIDS_SHOWN) {
        snprintf(noted->pids + length, sizeof(noted->pids) - length, "%s%" PRIu32,
                 length > 0 ? ", " : "", pid);
    } else if (noted->count == PIDS_SHOWN + 1) {
        snprintf(noted->pids + length, sizeof(noted->pids) - length, " ..");
    }
}

/* Print a line unless --quiet was given. */
__attribute__((format(printf, 2, 3))) static void
say(const struct targets *targets, const char *format, ...)
{
    char text[800];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (!targets->options->quiet || targets->options->syntax->screen) {
        fprintf(stderr, "ntprof: %s: %s\n", targets->options->command, text);
    }
}

/* Whether status, of watching the target with index at, means that the process has
 * ended. An exiting process loses its memory before its pidfd becomes readable. */
static bool
is_end(const struct targets *targets, size_t at, NTSTATUS status)
{
    return targets_ended(targets, at) || status == STATUS_PROCESS_IS_TERMINATING ||
           status == STATUS_INVALID_CID;
}

/* Print why the target with index at, given by its number, cannot be
 * profiled. Returns false. */
static bool
fail_to_watch(const struct targets *targets, size_t at, NTSTATUS status,
              const char *why)
{
    cmd_fail(targets->options->command, "-p %" PRIu32 ": cannot be profiled: %s%s",
             targets->items[at].pid,
             is_end(targets, at, status) ? "it ended before it could be attached to"
                                         : why,
             targets->count > 1 ? "; so none of them is" : "");
    return false;
}

/* Watch the target at *at, and advance *at. One that is not given by its number and
 * cannot be watched is dropped; unless it has ended it is added to refused, with the
 * reason in why. Returns false after an error line. */
static bool
watch_next(struct targets *targets, struct recording *recording, size_t *at,
           struct noted *refused, char *why, size_t why_size)
{
    const char *reason;
    const NTSTATUS status = recording_watch(recording, targets->items[*at].pid,
                                            NTPROF_WATCH_DESCENDANTS, &reason);

    if (NT_SUCCESS(status)) {
        ++*at;
        return true;
    }
    if (targets->items[*at].kind == TARGET_NUMBER) {
        return fail_to_watch(targets, *at, status, reason);
    }
    if (!is_end(targets, *at, status)) {
        note_process(refused, targets->items[*at].pid);
        snprintf(why, why_size, "%s", reason);
    }
    remove_target(targets, *at);
    return true;
}

/* Watch the targets of one name, which follow one another from *at on, and say which
 * they are. *at becomes the index behind them. Returns false after an error line, also
 * if none of them can be watched. */
static bool
watch_name(struct targets *targets, struct recording *recording, size_t *at)
{
    const char *const name = targets->items[*at].name;
    struct noted refused = {.count = 0};
    struct noted watched = {.count = 0};
    char shown[200];
    char why[400] = "";

    text_show(shown, sizeof(shown), name);
    while (*at < targets->count && targets->items[*at].name == name) {
        const uint32_t pid = targets->items[*at].pid;
        const size_t before = *at;

        if (!watch_next(targets, recording, at, &refused, why, sizeof(why))) {
            return false;
        }
        if (*at != before) {
            note_process(&watched, pid);
        }
    }
    if (watched.count == 0) {
        return refuse_name(targets, name, refused.count > 0 ? why : all_ended);
    }
    say(targets, "%s: %zu process%s: %s", shown, watched.count,
        watched.count > 1 ? "es" : "", watched.pids);
    if (refused.count > 0) {
        say(targets, "%s: %zu left out: %s: %s", shown, refused.count, refused.pids,
            why);
    }
    return true;
}

static bool
is_target(const struct targets *targets, uint32_t pid)
{
    for (size_t i = 0; i < targets->count; i++) {
        if (targets->items[i].pid == pid) {
            return true;
        }
    }
    return false;
}

/* Return a malloc'd list of the pids of the targets. Returns NULL after an error line
 * if memory runs out. */
static uint32_t *
list_pids(const struct targets *targets)
{
    uint32_t *const pids = calloc(targets->count + 1, sizeof(*pids));

    for (size_t i = 0; pids != NULL && i < targets->count; i++) {
        pids[i] = targets->items[i].pid;
    }
    if (pids == NULL) {
        cmd_fail(targets->options->command, "out of memory");
    }
    return pids;
}

/* Read the processes and mark the descendants of the targets. Returns false
 * after an error line. */
static bool
read_descendants(const struct targets *targets, struct processes *processes)
{
    uint32_t *const pids = list_pids(targets);
    const bool done = pids != NULL && processes_read(processes);

    if (done) {
        processes_mark_descendants(processes, pids, targets->count);
    } else if (pids != NULL) {
        cmd_fail(targets->options->command, "cannot list processes: %s",
                 strerror(errno));
    }
    free(pids);
    return done;
}

/* Watch the descendants that are no targets yet, and make them targets. Those that were
 * forked by a watched process are followed already, and watching them once more changes
 * nothing. *more is set if there were any. Returns false after an error line. */
static bool
watch_round(struct targets *targets, struct recording *recording,
            const struct processes *processes, struct noted *refused, char *why,
            size_t why_size, bool *more)
{
    *more = false;
    for (size_t i = 0; i < processes->count; i++) {
        const struct target child = {.pid = processes->items[i].pid,
                                     .kind = TARGET_CHILD};
        size_t at = targets->count;

        if (!processes->items[i].descendant || is_target(targets, child.pid) ||
            child.pid == (uint32_t)getpid()) {
            continue;
        }
        if (!add_target(targets, &child)) {
            if (errno == 0) {
                return false; /* no memory */
            }
            if (errno != ESRCH) {
                snprintf(why, why_size, "pidfd_open: %s", text_errno(errno));
                note_process(refused, child.pid);
            }
            continue;
        }
        if (!watch_next(targets, recording, &at, refused, why, why_size)) {
            return false;
        }
        *more = *more || at == targets->count; /* it was not dropped */
    }
    return true;
}

/* Watch all descendants of the targets. While they are listed some fork others, so this
 * is repeated until none is new. Returns false after an error line. */
static bool
watch_children(struct targets *targets, struct recording *recording)
{
    const size_t given = targets->count;
    struct processes processes = {0};
    struct noted refused = {.count = 0};
    char why[400] = "";
    bool more = true;
    bool done = true;

    for (int round = 0; done && more && round < CHILD_ROUNDS_MAX; round++) {
        refused = (struct noted){.count = 0};
        done = read_descendants(targets, &processes) &&
               watch_round(targets, recording, &processes, &refused, why, sizeof(why),
                           &more);
    }
    processes_finish(&processes);
    if (done) {
        say(targets, "%zu child%s found", targets->count - given,
            targets->count - given == 1 ? "" : "ren");
    }
    if (done && refused.count > 0) {
        say(targets, "%zu child%s left out: %s: %s", refused.count,
            refused.count == 1 ? "" : "ren", refused.pids, why);
    }
    return done;
}

bool
targets_watch(struct targets *targets, struct recording *recording)
{
    struct noted refused = {.count = 0};
    size_t at = 0;

    while (at < targets->count) {
        /* Of those given by number none is left out: refused and why stay empty. */
        if (!(targets->items[at].kind == TARGET_NAME
                  ? watch_name(targets, recording, &at)
                  : watch_next(targets, recording, &at, &refused, /* why */ NULL, 0))) {
            return false;
        }
    }
    targets->began_ns = clock_now_ns();
    return targets->options->children ? watch_children(targets, recording)
                                      : read_descendants(targets, &targets->before);
}

bool
targets_ended(const struct targets *targets, size_t at)
{
    struct pollfd ended = {.fd = targets->fds[at], .events = POLLIN};

    return poll(&ended, 1, 0) > 0;
}

/* --- children that are not profiled --- */

/* busy - the descendants that used most processor time, the busiest first. */
struct busy {
    const struct process_seen *items[CHILDREN_SHOWN];
    uint64_t ticks[CHILDREN_SHOWN];
    uint64_t all_ticks;    /* those of all descendants */
    uint64_t target_ticks; /* those of the targets */
};

/* Keep a process if it is among the busiest seen so far, most ticks first. */
static void
keep_busiest(struct busy *busy, const struct process_seen *process, uint64_t ticks)
{
    size_t at = CHILDREN_SHOWN;

    busy->all_ticks += ticks;
    while (at > 0 && ticks > busy->ticks[at - 1]) {
        at--;
    }
    if (at == CHILDREN_SHOWN) {
        return;
    }
    for (size_t i = CHILDREN_SHOWN - 1; i > at; i--) {
        busy->items[i] = busy->items[i - 1];
        busy->ticks[i] = busy->ticks[i - 1];
    }
    busy->items[at] = process;
    busy->ticks[at] = ticks;
}

/* Find what the descendants that are not profiled, and the targets, have used
 * since the watch began. */
static void
find_busy(const struct targets *targets, const struct processes *now, struct busy *busy)
{
    for (size_t i = 0; i < targets->before.count; i++) {
        const struct process_seen *const before = &targets->before.items[i];
        const struct process_seen *const process =
            processes_find(now, before->pid, before->started_ticks);
        const uint64_t ticks =
            process != NULL ? process->used_ticks - before->used_ticks : 0;

        if (ticks > 0 && is_target(targets, before->pid)) {
            busy->target_ticks += ticks;
        } else if (ticks > 0 && before->descendant) {
            keep_busiest(busy, process, ticks);
        }
    }
}

/* Print "1234 worker (98% of a processor)" for each of the busiest; elapsed_ticks is
 * the time since the watch began. */
static void
put_busy(FILE *out, const struct busy *busy, double elapsed_ticks)
{
    char shown[4 * PROCESS_NAME_BYTES + 1];

    for (size_t i = 0; i < CHILDREN_SHOWN && busy->items[i] != NULL; i++) {
        fprintf(out, "%s%" PRIu32 " %s (%.0f%% of a processor)", i > 0 ? ", " : "",
                busy->items[i]->pid,
                text_show(shown, sizeof(shown), busy->items[i]->name),
                100 * (double)busy->ticks[i] / elapsed_ticks);
    }
}

void
targets_describe_children(const struct targets *targets, char *text, size_t size)
{
    const double elapsed_s = (double)(clock_now_ns() - targets->began_ns) / 1e9;
    const double elapsed_ticks = elapsed_s * (double)sysconf(_SC_CLK_TCK);
    struct processes now = {0};
    struct busy busy = {.all_ticks = 0};
    FILE *const out = fmemopen(text, size, "w");

    text[0] = '\0';
    if (out != NULL && targets->before.count > 0 && processes_read(&now)) {
        find_busy(targets, &now, &busy);
        /* A tenth of a processor, more than one tick, which may be chance, and more
         * than what was profiled: else it is not what the user wants to see. */
        if ((double)busy.all_ticks >= elapsed_ticks / 10 && busy.all_ticks > 1 &&
            busy.all_ticks > busy.target_ticks) {
            fprintf(out, "%s " PROFILE_CHILDREN_RUN,
                    targets->count > 1 ? "their" : "its");
            put_busy(out, &busy, elapsed_ticks);
            fprintf(out, "; to profile them: ntprof %s --children",
                    targets->options->command);
            for (size_t i = 0; i < targets->count && i < PIDS_SHOWN; i++) {
                fprintf(out, "%s%" PRIu32, i > 0 ? "," : " ", targets->items[i].pid);
            }
        }
    }
    if (out != NULL) {
        fclose(out);
    }
    processes_finish(&now);
}

void
targets_close(struct targets *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        close(targets->fds[i]);
    }
    free(targets->fds);
    free(targets->items);
    processes_finish(&targets->before);
}
