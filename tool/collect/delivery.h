/* SPDX-License-Identifier: MIT */
/*
 * delivery.h - the thread that delivers a session opened with NTPROF_SESSION_POLLED,
 * and the lock that keeps its deliveries out: between delivery_lock and delivery_unlock
 * no hit is counted and nothing is notified but by the holder's own calls. So counters
 * and statistics can be read that agree.
 */
#ifndef COLLECT_DELIVERY_H
#define COLLECT_DELIVERY_H

#include <ntprof/ntprof.h>
#include <pthread.h>
#include <stdbool.h>

struct delivery {
    ntprof_session *session;
    pthread_mutex_t lock;
    pthread_t thread;
    int wake_fd;
    bool running;
    bool closing; /* under the lock */
};

void delivery_init(struct delivery *delivery, ntprof_session *session);

/* Begins to deliver on a thread of its own. 0 or a negative errno. */
int delivery_start(struct delivery *delivery);

/* Ends the thread, if there is one. Not with the lock held. */
void delivery_stop(struct delivery *delivery);

void delivery_finish(struct delivery *delivery);

void delivery_lock(struct delivery *delivery);
void delivery_unlock(struct delivery *delivery);

#endif
