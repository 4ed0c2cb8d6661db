/* SPDX-License-Identifier: MIT */
/*
 * keeper.h - the thread that maintains a recording while it runs: it folds counters
 * before they can wrap, and rewrites the file.
 */
#ifndef CMD_KEEPER_H
#define CMD_KEEPER_H

#include "collect/collector.h"

#include <pthread.h>

struct keeper {
    struct collector *collector;
    uint64_t every_ns; /* 0: no rewrites */
    void (*rewrite)(void *context);
    void *context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool closing; /* guarded by lock */
    bool running;
};

/*
 * Start the thread. Returns 0 or a negative errno.
 *
 *   every_ns  time between calls of rewrite, which never overlap; 0: no calls
 */
int keeper_start(struct keeper *keeper, struct collector *collector, uint64_t every_ns,
                 void (*rewrite)(void *context), void *context);

/* Stop and join the thread, after the fold or rewrite in progress. */
void keeper_stop(struct keeper *keeper);

#endif
