/* SPDX-License-Identifier: MIT */
/*
 * targets.h - the processes of attach and top: finds them, watches them, and detects
 * when they exit.
 *
 * Order of calls: open, watch, close.
 */
#ifndef RECORD_TARGETS_H
#define RECORD_TARGETS_H

#include "record/processes.h"
#include "record/recording.h"

/* target_kind - how a process became a target: by its number, by its name or as a
 * child. Those that are given by number all have to exist and to be allowed to be
 * profiled; others are left out if they are not. */
enum target_kind { TARGET_NUMBER, TARGET_NAME, TARGET_CHILD };

struct target {
    uint32_t pid;
    enum target_kind kind;
    const char *name; /* of TARGET_NAME: the name or glob that was given */
};

/* targets - the processes to profile. */
struct targets {
    const struct record_options *options;
    struct target *items;
    int *fds; /* pidfds, in the same order */
    size_t count;
    size_t capacity;
    /* Without options->children: the processes when the watch began. Descendants of
     * targets among them are not profiled. */
    struct processes before;
    uint64_t began_ns; /* CLOCK_MONOTONIC: when the watch began */
};

/* Find the processes of options. Returns false after an error line about the first that
 * cannot be attached to, or the first name whose processes have all ended.
 * targets_close must be called in any case. */
bool targets_open(struct targets *targets, const struct record_options *options);

/* Watch all targets and, with options->children, their descendants. Says which
 * were found by a name, and which of those could not be profiled. Returns false
 * after an error line. */
bool targets_watch(struct targets *targets, struct recording *recording);

/* Return whether the target with index at has exited. */
bool targets_ended(const struct targets *targets, size_t at);

/* Write to text which descendants are not profiled and have used more
 * processor time than the targets since the watch began, and how to profile
 * them; "" if there are none. */
void targets_describe_children(const struct targets *targets, char *text, size_t size);

/* Close and free everything. */
void targets_close(struct targets *targets);

#endif
