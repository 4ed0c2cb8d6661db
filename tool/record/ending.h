/* SPDX-License-Identifier: MIT */
/*
 * ending.h - waits for the end of a recording without a command: a signal, the time, or
 * the end of the recorded processes.
 */
#ifndef RECORD_ENDING_H
#define RECORD_ENDING_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* ending - the signals that end the recording. */
struct ending {
    int signal_fd;     /* signalfd that receives them; -1 once released */
    sigset_t old_mask; /* blocked signals before ending_prepare */
};

/*
 * Block the signals of signals.h, so that ending_wait receives them; ignored ones, as
 * under nohup, stay ignored, and those with a handler keep it. Signals that would end
 * ntprof while it writes are ignored too. Returns 0 or a negative errno.
 */
int ending_prepare(struct ending *ending);

/* Wait for one of the signals of ending_prepare, for the end of duration_ns (0: no
 * limit), or until all processes of the pidfds in fds have exited; without fds (count
 * 0) only a signal or the time ends the wait. Returns 0 or a negative errno. */
int ending_wait(const struct ending *ending, const int *fds, size_t count,
                uint64_t duration_ns);

/* Unblock the termination signals, which end ntprof from now on, and discard those
 * received so far. The others stay blocked. */
void ending_release(struct ending *ending);

#endif
