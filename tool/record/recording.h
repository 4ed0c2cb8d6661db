/* SPDX-License-Identifier: MIT */
/*
 * recording.h - what run, attach and system share: the session and its sources, the
 * collector, the profile file and the table.
 *
 * Order of calls: open, watch, begin, end, deliver, close. All print their own errors,
 * unless stated otherwise.
 */
#ifndef RECORD_RECORDING_H
#define RECORD_RECORDING_H

#include "base/whole_file.h"
#include "profile/pprof.h"
#include "record/collect/collector.h"
#include "record/control.h"
#include "record/function_source.h"
#include "record/keeper.h"
#include "record/pace.h"
#include "record/preload.h"
#include "record/record_options.h"
#include "record/region.h"

#include <stdio.h>

/* recording - all that a running recording has. */
struct recording {
    const struct record_options *options;
    const char *command;     /* for messages */
    ntprof_session *session; /* NULL: preload is used */
    struct preload preload;
    KPROFILE_SOURCE sources[RECORD_SOURCES_MAX];
    /* by index in sources; those that are no functions are empty */
    struct function_source functions[RECORD_SOURCES_MAX];
    /* names of the sources in profiles; or NULL */
    const char *source_names[RECORD_SOURCES_MAX];
    struct region region; /* the only code to profile, with --region */
    struct pace pace;
    uint64_t asked_100ns; /* interval of source time */
    bool kernel;          /* at least one source counts in the kernel */
    struct collector *collector;
    struct keeper keeper;
    struct control control;
    struct names names;
    FILE *report;
    FILE *report_end; /* the stream to which report leads, while it is in memory */
    struct whole_file report_file; /* the stream of report, if replaces_report */
    bool replaces_report;
    /* descriptor reserved for the file, in case images use all others; or -1 */
    int spare;
    char **words; /* the command line, for the profile */
    /* words are a command that ntprof started, so that processes of it which still run
     * at the end are reported */
    bool children;
    /* processes that work and are not profiled, and how to profile them; NULL or "" */
    const char *children_run;
    bool written; /* the file was written once, and FILE.old is the one from before */
    uint64_t interval_changes; /* while it ran */
    /* of the last profile, with -g: as in collector_gaps */
    uint64_t stack_ends[STACK_ENDS];
    uint64_t contexts;
    bool rewrite_reported;       /* a failed rewrite was reported */
    uint64_t start_ns;           /* CLOCK_REALTIME */
    uint64_t start_monotonic_ns; /* CLOCK_MONOTONIC */
    uint64_t duration_ns;
};

/* Raise the limit of descriptors: each target, event and image needs one.
 * recording_open does so too. */
void recording_raise_file_limit(void);

/* Open everything that can fail before anything is profiled. machine: all processes
 * will be watched. options must outlive the recording, and recording_close must be
 * called in any case. Returns false after printing an error. */
bool recording_open(struct recording *recording, const struct record_options *options,
                    bool machine);

/* Watch a process, with flags NTPROF_WATCH_... Prints nothing: on failure the
 * reason is in *why. */
NTSTATUS recording_watch(struct recording *recording, uint32_t pid, uint32_t flags,
                         const char **why);

/* Have the preload object count what run starts, instead of the session, whose watch
 * was refused. why: the reason of recording_watch. Returns false after printing an
 * error. */
bool recording_fall_back(struct recording *recording, const char *why);

/* Watch all processes of the machine and the kernel. Prints nothing; on failure the
 * reason is in *why. */
NTSTATUS recording_watch_all(struct recording *recording, const char **why);

/* Start the measured time: start threads that deliver and, with --every, rewrite the
 * file. words is the command line for the profile, NULL-terminated. Returns false after
 * printing an error. */
bool recording_begin(struct recording *recording, char **words);

/* Return the time after which --duration ends attach and system; 0: never. */
uint64_t recording_limit_ns(const struct recording *recording);

/* End the measured time: stop the collector, so that later hits are not recorded, and
 * the keeper's thread. */
void recording_end(struct recording *recording);

/* Prints a profile into the stream report. Returns false if writing fails, with errno,
 * or memory runs out, with errno 0. */
typedef bool recording_print(const struct recording *recording,
                             const struct profile *profile);

/* Write the file and print the table; a failure of one does not prevent the other.
 * Returns false if either failed, after printing an error. */
bool recording_deliver(struct recording *recording, recording_print *print);

/* With -g, print how complete the stacks of the last profile are. Returns false if
 * writing fails. */
bool recording_print_stacks(const struct recording *recording);

/* Make a profile of all hits that collector_recent returned so far, while the recording
 * runs. Returns NULL if memory runs out. */
struct profile *recording_repeat(struct recording *recording);

/* Write a profile to the file; the first time, an existing file becomes FILE.old.
 * Prints nothing. */
bool recording_write(struct recording *recording, const struct profile *profile,
                     struct pprof_error *error);

/* Write a profile of everything so far to the file. Prints nothing: returns false with
 * the reason in error. The thread of the keeper calls it for control.c. */
bool recording_snapshot(struct recording *recording, struct pprof_error *error);

/* Return whether the file can be rewritten at all, which recording_snapshot needs. */
bool recording_can_snapshot(const struct recording *recording);

/* Change the interval of source time, which the guard may lengthen; *granted_100ns is
 * then the one in effect. Returns false if time is not recorded, or
 * collector_set_interval fails. */
bool recording_set_interval(struct recording *recording, uint64_t interval_100ns,
                            uint64_t *granted_100ns);

/* Adapt the interval of source time to what hits cost (pace_adapt). */
void recording_adapt(struct recording *recording);

/* End a recording with a screen, instead of recording_deliver: write no file, and print
 * only the statistics. Returns false after printing an error, or without one if the
 * statistics, which go to standard error, cannot be written. */
bool recording_conclude(struct recording *recording, recording_print *print);

/* recording_close - close what recording_open opened, also in part. If it was not
 * called, do nothing; all members but the options must then be zero. */
void recording_close(struct recording *recording);

/* Print "WHAT NAME: reason", with NAME escaped. Returns false, so that callers can
 * return its value. */
bool recording_fail_errno(const struct recording *recording, const char *what,
                          const char *name, int failure);

#endif
