/* SPDX-License-Identifier: MIT */
/*
 * worker.h - the thread that does the slow work of ntprof top, such as reading
 * names, so that the screen answers keys at once. It has one job at a time, which is
 * given, run and taken back.
 */
#ifndef TOP_WORKER_H
#define TOP_WORKER_H

#include "profile/profile.h"
#include "view/listing/listing.h"
#include "view/screen/table.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum top_job_kind {
    TOP_LOOK,  /* makes profile of the hits since the last look */
    TOP_LIST,  /* makes listing of target, from profile */
    TOP_CALLS, /* makes profile of all hits until the last look */
    TOP_WRITE  /* writes the file */
};

/* top_target - a row of functions, and its function as the table knew it when the row
 * was chosen. The table owns the strings. */
struct top_target {
    enum tui_rows rows;
    size_t row;
    struct tui_target outer;
    bool inlined; /* inner, where it is inlined into outer */
    struct profile_function inner;
};

/* top_job - a job and its result. The owner of the job owns profile and listing. */
struct top_job {
    enum top_job_kind kind;
    struct top_target target;
    bool again;              /* updates the shown listing */
    struct profile *profile; /* result; NULL: it failed */
    struct listing *listing;
    char message[400]; /* "" or a message for the user, not escaped; reasons in it are
                        * cut at 390 bytes */
    double interval_s; /* time since the previous look */
    double cost;       /* processors that ntprof used in that time */
    uint64_t taken_ns; /* time that the job took */
};

struct top_worker {
    void (*run)(void *context, struct top_job *job);
    void *context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int done_fd; /* readable when a job can be taken back */
    bool running;
    /* Guarded by lock: */
    bool closing;
    enum { WORKER_IDLE, WORKER_BUSY, WORKER_DONE } state;
    struct top_job job;
};

/* Start the thread, which calls run. Returns 0 or a negative errno; top_worker_stop
 * must be called in any case. */
int top_worker_start(struct top_worker *worker,
                     void (*run)(void *context, struct top_job *job), void *context);

/* Give the worker a job. Returns false if it has one. */
bool top_worker_give(struct top_worker *worker, const struct top_job *job);

/* Take back a finished job. Returns false if there is none. */
bool top_worker_take(struct top_worker *worker, struct top_job *job);

/* Stop the thread after its current job, which can still be taken back. */
void top_worker_stop(struct top_worker *worker);

#endif
