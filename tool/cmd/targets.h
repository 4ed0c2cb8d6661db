/* SPDX-License-Identifier: MIT */
/* targets.h - the processes that attach and top are for: that they are there, and when
 * they end. */
#ifndef CMD_TARGETS_H
#define CMD_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct targets {
    const char *command; /* for messages */
    int *fds;            /* pidfds, in the order of the pids */
    size_t count;
};

/* Finds them all. False after an error line that names the one that cannot be attached
 * to. targets_close is due in any case. */
bool targets_open(struct targets *targets, const char *command, const uint32_t *pids,
                  size_t count);

/* Has this one ended? */
bool targets_ended(const struct targets *targets, size_t at);

void targets_close(struct targets *targets);

#endif
