/* SPDX-License-Identifier: MIT */
/*
 * recording.h - what run, attach and system share: the session and its sources, the
 * collector, and what becomes of it: the file and the table.
 *
 * Order: open, watch, begin, end, deliver, close. All print their errors themselves,
 * unless said otherwise.
 */
#ifndef CMD_RECORDING_H
#define CMD_RECORDING_H

#include "cmd/function_source.h"
#include "cmd/keeper.h"
#include "cmd/rate.h"
#include "cmd/record_options.h"
#include "collect/collector.h"
#include "profile/pprof.h"
#include "util/whole_file.h"

#include <stdio.h>

struct recording {
    const struct record_options *options;
    const char *command; /* for messages */
    ntprof_session *session;
    KPROFILE_SOURCE sources[RECORD_SOURCES_MAX];
    struct function_source functions[RECORD_SOURCES_MAX]; /* of those that are */
    const char
        *source_names[RECORD_SOURCES_MAX]; /* that profiles have for them; or NULL */
    struct rate rate;                      /* with -F max, if it could be measured */
    bool kernel;                           /* some source counts in the kernel */
    struct collector *collector;
    struct keeper keeper;
    struct names names;
    FILE *report;
    struct whole_file report_file; /* what report writes, if replaces_report */
    bool replaces_report;
    /* descriptor kept for the file, should images have all the others; or -1 */
    int spare;
    char **words;      /* the command line that the file tells */
    bool children;     /* of the words: those that still run at the end are told of */
    bool written;      /* once: what had the file's name before is FILE.old */
    bool rewrite_said; /* that the file could not be written in between */
    uint64_t start_ns; /* CLOCK_REALTIME */
    uint64_t begun_ns; /* CLOCK_MONOTONIC */
    uint64_t duration_ns;
};

/* All that can be known to fail before anything is profiled. options must outlive the
 * recording; recording_close is due in any case. machine: all processes are to be
 * watched. */
bool recording_open(struct recording *recording, const struct record_options *options,
                    bool machine);

/*
 * Watches a process. Prints nothing: on failure *why says what refused.
 *
 *   flags  NTPROF_WATCH_...
 */
NTSTATUS recording_watch(struct recording *recording, uint32_t pid, uint32_t flags,
                         const char **why);

/* The same for all processes of the machine, and the kernel. */
NTSTATUS recording_watch_all(struct recording *recording, const char **why);

/* The time that counts begins: delivers, and with --every rewrites the file, on threads
 * of its own. words is the command line that the file tells, NULL-terminated. */
bool recording_begin(struct recording *recording, char **words);

/* The time that counts ends. */
void recording_end(struct recording *recording);

/* File and table; each is tried although the other failed. */
bool recording_deliver(struct recording *recording);

/* All that collector_recent gave so far, as a profile to look at and to write while it
 * goes on. NULL: out of memory. */
struct profile *recording_repeat(struct recording *recording);

/* Writes a profile to the file; what had its name before the first time is kept. Prints
 * nothing. */
bool recording_write(struct recording *recording, const struct profile *profile,
                     struct pprof_error *error);

/* Instead of recording_deliver: no file, and of the table the lines under it alone. */
bool recording_conclude(struct recording *recording);

void recording_close(struct recording *recording);

/* "WHAT NAME: reason", with NAME escaped. Always false, for return. */
bool recording_fail_errno(const struct recording *recording, const char *what,
                          const char *name, int failure);

#endif
