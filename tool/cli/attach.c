/* SPDX-License-Identifier: MIT */
/*
 * cli/attach.c - ntprof attach: profiles running processes.
 *
 * All processes are found and watched before ntprof waits for anything: if one of them
 * cannot be watched, none is profiled. ntprof never stops them.
 */
#include "cli/cmd.h"
#include "record/ending.h"
#include "record/recording.h"
#include "record/targets.h"

#include <inttypes.h>
#include <string.h>

static const struct record_syntax syntax = {
    .command = "attach", .pids = true, .duration = true, .region = true};

/* Print why a process cannot be profiled. Returns false, so that callers can return its
 * value. */
static bool
attach_fail(const struct recording *recording, const struct targets *targets, size_t at,
            NTSTATUS status, const char *why)
{
    const struct record_options *const options = recording->options;

    /* An exiting process loses its memory before its pidfd becomes readable. */
    if (targets_ended(targets, at) || status == STATUS_PROCESS_IS_TERMINATING ||
        status == STATUS_INVALID_CID) {
        why = "it ended before it could be attached to";
    }
    cmd_fail("attach", "-p %" PRIu32 ": cannot be profiled: %s%s", options->pids[at],
             why, options->pid_count > 1 ? "; so none of them is" : "");
    return false;
}

static bool
attach_watch(struct recording *recording, const struct targets *targets)
{
    const struct record_options *const options = recording->options;

    for (size_t i = 0; i < options->pid_count; i++) {
        const char *why;
        const NTSTATUS status = recording_watch(recording, options->pids[i],
                                                NTPROF_WATCH_DESCENDANTS, &why);

        if (!NT_SUCCESS(status)) {
            return attach_fail(recording, targets, i, status, why);
        }
    }
    return true;
}

static bool
attach_wait(struct ending *ending, const struct recording *recording,
            const struct targets *targets)
{
    const int failure = ending_wait(ending, targets->fds, targets->count,
                                    recording_limit_ns(recording));

    if (failure != 0) {
        cmd_fail("attach", "cannot wait: %s", strerror(-failure));
    }
    return failure == 0;
}

/* Record until a signal, the time or the end of the processes, and write the
 * results. */
static bool
attach_record(struct recording *recording, const struct targets *targets,
              struct ending *ending, char **words)
{
    bool waited;
    bool delivered;

    if (!recording_open(recording, recording->options, false) ||
        !attach_watch(recording, targets) || !recording_begin(recording, words)) {
        return false;
    }
    waited = attach_wait(ending, recording, targets);
    recording_end(recording);
    ending_release(ending);
    delivered = recording_deliver(recording);
    return waited && delivered;
}

static bool
attach(const struct record_options *options, char **words)
{
    struct recording recording = {.options = options};
    struct targets targets;
    struct ending ending;
    const int failure = ending_prepare(&ending);
    bool done;

    if (failure != 0) {
        cmd_fail("attach", "cannot wait for signals: %s", strerror(-failure));
        return false;
    }
    done = targets_open(&targets, "attach", options->pids, options->pid_count) &&
           attach_record(&recording, &targets, &ending, words);
    recording_close(&recording);
    targets_close(&targets);
    ending_release(&ending);
    return done;
}

int
cmd_attach(int argc, char **argv)
{
    struct record_options options;
    int exit_status;

    control_prepare();
    if (record_options_take(&options, &syntax, argc, argv, &exit_status)) {
        exit_status = attach(&options, argv) ? CMD_OK : CMD_FAILED;
    }
    record_options_finish(&options);
    return exit_status;
}
