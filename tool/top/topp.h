/* SPDX-License-Identifier: MIT */
/*
 * topp.h - what the files of ntprof top share: a recording, or a store, and the screen
 * that shows it.
 *
 * There are two threads. A worker runs the jobs; while a job runs, only the worker uses
 * recording, store, annotator, looked_ns and spent_ns. The main thread owns the rest.
 */
#ifndef TOP_TOPP_H
#define TOP_TOPP_H

#include "record/recording.h"
#include "record/targets.h"
#include "top/store.h"
#include "top/worker.h"
#include "view/screen/screen.h"

/* top_statistics - statistics of one source at the last look. */
struct top_statistics {
    uint64_t taken;
    uint64_t outside;
    uint64_t missing; /* hits that were lost, throttled or missed */
};

struct top {
    const struct record_options *options;
    struct recording recording;  /* if store is NULL */
    struct top_store *store;     /* what is shown instead; NULL: the recording */
    struct annotator *annotator; /* NULL until the first listing */
    uint64_t looked_ns;          /* CLOCK_MONOTONIC at the last look */
    uint64_t spent_ns;           /* processor time of the command at the last look */
    struct targets targets;
    bool children_said; /* which children work that are not profiled */
    struct tui_screen screen;
    char hal[600];          /* the back end, and what it may not do here */
    struct profile *stored; /* the last look at the store; NULL: none */
    struct top_statistics statistics[RECORD_SOURCES_MAX];
    /* The shown listing, its profile and its target: */
    struct profile *profile;
    struct listing *listing;
    struct top_target listed; /* or the last one whose callers were wanted */
    uint64_t list_again_ns;   /* CLOCK_MONOTONIC: the earliest time to make it again */
};

/* Read all hits of the recording or the store as a profile. Returns NULL with the error
 * set. */
struct profile *top_read_whole(struct top *top, struct pprof_error *error);

/* Start the interval of the first look. */
void top_start_looks(struct top *top);

/* Run a job on the worker's thread; context is struct top. */
void top_run(void *context, struct top_job *job);

/* Show the result of a job and take ownership of its contents. */
void top_show_job(struct top *top, struct top_job *job);

/* Free the contents of a job. */
void top_drop_job(struct top_job *job);

/* Update the status above the rows, for the chosen source. */
void top_update_status(struct top *top);

/* Make a job for the row at the cursor: TOP_LIST or TOP_CALLS. Returns false if there
 * is no row. */
bool top_row_job(struct top *top, enum top_job_kind kind, struct top_job *job);

/* Make a job that updates the shown listing. Returns false if none is shown or it is
 * too early. */
bool top_list_again_job(const struct top *top, struct top_job *job);

/* Parts of top_run and top_show_job. */
void top_run_list(struct top *top, struct top_job *job);
void top_show_list(struct top *top, struct top_job *job);
void top_run_calls(struct top *top, struct top_job *job);
void top_show_calls(struct top *top, const struct top_job *job);
void top_delete_listing(struct listing *listing); /* may be NULL */

void top_list_finish(struct top *top);

#endif
