/* SPDX-License-Identifier: MIT */
/*
 * ending.h - what ends a recording that runs no command of its own: a signal, the time,
 * or the end of what is recorded.
 */
#ifndef CMD_ENDING_H
#define CMD_ENDING_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

struct ending {
    int signal_fd;
    sigset_t old_mask;
};

/*
 * From now on the signals of signals.h are waited for and do not end us, but what is
 * ignored, as under nohup, stays so; and what would end us in the middle of writing is
 * an error instead. 0 or a negative errno.
 */
int ending_prepare(struct ending *ending);

/*
 * Waits for one of those signals, for the time, or until all descriptors are readable.
 *
 *   fds          pidfds
 *   count        0: nothing but signal and time ends it
 *   duration_ns  0: no time
 *
 * 0 or a negative errno.
 */
int ending_wait(const struct ending *ending, const int *fds, size_t count,
                uint64_t duration_ns);

/* From now on the insistent signals end us: what has come until now is done with. The
 * others stay blocked. */
void ending_release(struct ending *ending);

#endif
