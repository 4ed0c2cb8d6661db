/* SPDX-License-Identifier: MIT */
/* targets.h - the processes of attach and top: finds them, and detects when they
 * exit. */
#ifndef RECORD_TARGETS_H
#define RECORD_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct targets {
    const char *command; /* for messages */
    int *fds;            /* pidfds, in the same order as the pids */
    size_t count;
};

/* Find all processes. Returns false after an error line about the first that cannot be
 * attached to. targets_close must be called in any case. */
bool targets_open(struct targets *targets, const char *command, const uint32_t *pids,
                  size_t count);

/* Return whether this process has exited. */
bool targets_ended(const struct targets *targets, size_t at);

void targets_close(struct targets *targets);

#endif
