/* SPDX-License-Identifier: MIT */
/*
 * keeper.h - the thread that keeps a recording in shape while it goes on: it folds
 * counters before they can wrap, and has the file rewritten.
 */
#ifndef CMD_KEEPER_H
#define CMD_KEEPER_H

#include "collect/collector.h"

#include <pthread.h>

struct keeper {
    struct collector *collector;
    uint64_t every_ns; /* 0: nothing is rewritten */
    void (*rewrite)(void *context);
    void *context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool closing; /* under the lock */
    bool running;
};

/*
 * Begins. 0 or a negative errno.
 *
 *   every_ns  between calls of rewrite, which come one after the other; 0 for none
 */
int keeper_start(struct keeper *keeper, struct collector *collector, uint64_t every_ns,
                 void (*rewrite)(void *context), void *context);

/* Ends, after what it is just doing. */
void keeper_stop(struct keeper *keeper);

#endif
