/* SPDX-License-Identifier: MIT */
/* until_end.c - watches, waits and delivers. */
#include "record/until_end.h"
#include "base/message.h"
#include "record/ending.h"
#include "record/targets.h"

#include <string.h>

/* Watch the targets, or the whole machine if none were named. Returns false after an
 * error line. */
static bool
watch(struct recording *recording, struct targets *targets)
{
    const char *why;

    if (recording->options->pid_count > 0) {
        return targets_watch(targets, recording);
    }
    if (!NT_SUCCESS(recording_watch_all(recording, &why))) {
        cmd_fail(recording->options->command, "cannot profile all processes: %s", why);
        return false;
    }
    return true;
}

/* Wait for the end of the recording. Returns false after an error line. */
static bool
wait_for_end(const struct ending *ending, const struct recording *recording,
             const struct targets *targets)
{
    const int failure = ending_wait(ending, targets->fds, targets->count,
                                    recording_limit_ns(recording));

    if (failure != 0) {
        cmd_fail(recording->options->command, "cannot wait: %s", strerror(-failure));
    }
    return failure == 0;
}

/* Open, watch, wait and deliver. Returns false after an error line. */
static bool
record(struct recording *recording, struct targets *targets, struct ending *ending,
       char **words, recording_print *print)
{
    char children[1000];
    bool waited;
    bool delivered;

    if (!recording_open(recording, recording->options,
                        recording->options->pid_count == 0) ||
        !watch(recording, targets) || !recording_begin(recording, words)) {
        return false;
    }
    waited = wait_for_end(ending, recording, targets);
    recording_end(recording);
    targets_describe_children(targets, children, sizeof(children));
    recording->children_run = children;
    ending_release(ending);
    delivered = recording_deliver(recording, print);
    return waited && delivered;
}

bool
record_until_end(const struct record_options *options, char **words,
                 recording_print *print)
{
    struct recording recording = {.options = options};
    struct targets targets = {.count = 0};
    struct ending ending;
    const int failure = ending_prepare(&ending);
    bool done;

    if (failure != 0) {
        cmd_fail(options->command, "cannot wait for signals: %s", strerror(-failure));
        return false;
    }
    done = (options->pid_count == 0 || targets_open(&targets, options)) &&
           record(&recording, &targets, &ending, words, print);
    recording_close(&recording);
    targets_close(&targets);
    ending_release(&ending);
    return done;
}
