/* SPDX-License-Identifier: MIT */
/*
 * top.h - what the files of ntprof top share: a recording and the screen that shows it.
 * For top*.c alone.
 *
 * Two threads: jobs are run by a worker, which alone has recording, annotator,
 * looked_ns and spent_ns while it goes on; the rest belongs to the screen's thread.
 */
#ifndef CMD_TOP_H
#define CMD_TOP_H

#include "cmd/recording.h"
#include "cmd/targets.h"
#include "cmd/top_worker.h"
#include "tui/screen.h"

/* top_statistics - what a look found of one source. */
struct top_statistics {
    uint64_t taken;
    uint64_t outside;
    uint64_t missing; /* lost, throttled or missed */
};

struct top {
    const struct record_options *options;
    struct recording recording;
    struct annotator *annotator; /* NULL until one is wanted */
    uint64_t looked_ns;          /* CLOCK_MONOTONIC: the last look */
    uint64_t spent_ns;           /* CLOCK_PROCESS_CPUTIME_ID: then */
    struct targets targets;
    struct tui_screen screen;
    char hal[600]; /* the back end, and what it may not do here */
    struct top_statistics statistics[RECORD_SOURCES_MAX];
    /* The listing that is shown, and what it is of: */
    struct profile *profile;
    struct listing *listing;
    struct top_target listed;
    uint64_t list_again_ns; /* CLOCK_MONOTONIC: not before */
};

/* The time from which the first look counts. */
void top_begin_looks(struct top *top);

/* Does a job, on the worker's thread: context is struct top. */
void top_run(void *context, struct top_job *job);

/* Shows what became of a job, and takes what is in it. */
void top_show_job(struct top *top, struct top_job *job);

/* Frees what is in it. */
void top_drop_job(struct top_job *job);

/* What is told above the rows, of the source that is chosen. */
void top_tell_status(struct top *top);

/* The listing of the row at the cursor, as a job. False: there is no row. */
bool top_list_job(struct top *top, struct top_job *job);

/* The one that is shown, made anew. False: none is, or that would cost too much by now.
 */
bool top_list_again_job(const struct top *top, struct top_job *job);

/* For top_run and top_show_job. */
void top_run_list(struct top *top, struct top_job *job);
void top_show_list(struct top *top, struct top_job *job);
void top_delete_listing(struct listing *listing); /* NULL is allowed */

void top_list_finish(struct top *top);

#endif
