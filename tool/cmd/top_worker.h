/* SPDX-License-Identifier: MIT */
/*
 * top_worker.h - the thread that does for ntprof top what may take long, such as
 * reading names, so that keys are answered at once. One job at a time: given, run,
 * taken back.
 */
#ifndef CMD_TOP_WORKER_H
#define CMD_TOP_WORKER_H

#include "annotate/listing.h"
#include "profile/profile.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum top_job_kind {
    TOP_LOOK, /* what came since the last look: profile */
    TOP_LIST, /* a listing of target: listing, of profile */
    TOP_WRITE /* the file */
};

/* top_target - the function of a row. Strings are the table's, which keeps them. */
struct top_target {
    const char *image;
    const char *name; /* NULL: address tells */
    uint64_t address;
};

/* top_job - and what became of it. profile and listing are whose the job is. */
struct top_job {
    enum top_job_kind kind;
    struct top_target target;
    bool again;              /* of the listing that is shown */
    struct profile *profile; /* NULL: failed */
    struct listing *listing;
    char said[400];    /* "" or something for people; hostile */
    double interval_s; /* of a look */
    double cost;       /* processors that ntprof took in it */
    uint64_t taken_ns; /* the time that the job took */
};

struct top_worker {
    void (*run)(void *context, struct top_job *job);
    void *context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int done_fd; /* readable when a job can be taken back */
    bool running;
    /* Under the lock: */
    bool closing;
    enum { WORKER_IDLE, WORKER_BUSY, WORKER_DONE } state;
    struct top_job job;
};

/* run is called on the thread. 0 or a negative errno; top_worker_stop is due in any
 * case. */
int top_worker_start(struct top_worker *worker,
                     void (*run)(void *context, struct top_job *job), void *context);

/* Gives it a job. False: it has one. */
bool top_worker_give(struct top_worker *worker, const struct top_job *job);

/* Takes a job back that is done. False: there is none. */
bool top_worker_take(struct top_worker *worker, struct top_job *job);

/* Ends, after what it is just doing; that can be taken back still. */
void top_worker_stop(struct top_worker *worker);

#endif
