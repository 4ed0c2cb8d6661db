/* SPDX-License-Identifier: MIT */
/*
 * delivery.h - the thread that delivers a session opened with NTPROF_SESSION_POLLED,
 * and a lock that keeps its deliveries out. Between delivery_lock and delivery_unlock
 * only the holder's own calls count hits or notify, so the holder reads counters and
 * statistics that agree.
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
    bool closing; /* guarded by lock */
};

void delivery_init(struct delivery *delivery, ntprof_session *session);

/* Start a thread that delivers. Returns 0 or a negative errno. */
int delivery_start(struct delivery *delivery);

/* Stop and join the thread, if it runs. The caller must not hold the lock. */
void delivery_stop(struct delivery *delivery);

void delivery_finish(struct delivery *delivery);

void delivery_lock(struct delivery *delivery);
void delivery_unlock(struct delivery *delivery);

#endif
