/* SPDX-License-Identifier: MIT */
/* cli/system.c - ntprof system: profiles the whole machine until a signal or the
 * time. */
#include "cli/cmd.h"
#include "record/ending.h"
#include "record/recording.h"

#include <string.h>

static const struct record_syntax syntax = {
    .command = "system", .duration = true, .machine = true};

static bool
system_watch(struct recording *recording)
{
    const char *why;
    const NTSTATUS status = recording_watch_all(recording, &why);

    if (!NT_SUCCESS(status)) {
        cmd_fail("system", "cannot profile all processes: %s", why);
    }
    return NT_SUCCESS(status);
}

static bool
system_wait(const struct ending *ending, const struct recording *recording)
{
    const int failure = ending_wait(ending, NULL, 0, recording_limit_ns(recording));

    if (failure != 0) {
        cmd_fail("system", "cannot wait: %s", strerror(-failure));
    }
    return failure == 0;
}

/* Record until a signal or the time, and write the results. */
static bool
system_record(struct recording *recording, struct ending *ending, char **words)
{
    bool waited;
    bool delivered;

    if (!recording_open(recording, recording->options, true) ||
        !system_watch(recording) || !recording_begin(recording, words)) {
        return false;
    }
    waited = system_wait(ending, recording);
    recording_end(recording);
    ending_release(ending);
    delivered = recording_deliver(recording);
    return waited && delivered;
}

static bool
profile_system(const struct record_options *options, char **words)
{
    struct recording recording = {.options = options};
    struct ending ending;
    const int failure = ending_prepare(&ending);
    bool done;

    if (failure != 0) {
        cmd_fail("system", "cannot wait for signals: %s", strerror(-failure));
        return false;
    }
    done = system_record(&recording, &ending, words);
    recording_close(&recording);
    ending_release(&ending);
    return done;
}

int
cmd_system(int argc, char **argv)
{
    struct record_options options;
    int exit_status;

    control_prepare();
    if (record_options_take(&options, &syntax, argc, argv, &exit_status)) {
        exit_status = profile_system(&options, argv) ? CMD_OK : CMD_FAILED;
    }
    record_options_finish(&options);
    return exit_status;
}
