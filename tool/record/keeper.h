/* SPDX-License-Identifier: MIT */
/*
 * keeper.h - the thread that maintains a recording while it runs: it folds counters
 * before they can wrap, rewrites the file, and obeys controls (control.h).
 */
#ifndef RECORD_KEEPER_H
#define RECORD_KEEPER_H

#include "record/collect/collector.h"

#include <pthread.h>

/* keeper_work - what the thread does. */
struct keeper_work {
    struct collector *collector;
    uint64_t every_ns; /* time between calls of rewrite; 0: no calls */
    void (*rewrite)(void *context);
    int control_fd; /* control is called when it is readable; -1: never */
    void (*control)(void *context);
    void *context;
};

struct keeper {
    struct keeper_work work;
    pthread_t thread;
    int wake_fd; /* an eventfd; readable: the thread has to exit */
    bool running;
};

/* Start the thread, whose calls of rewrite and control never overlap. Returns 0 or a
 * negative errno. */
int keeper_start(struct keeper *keeper, const struct keeper_work *work);

/* Stop and join the thread, after the fold or rewrite in progress. */
void keeper_stop(struct keeper *keeper);

#endif
