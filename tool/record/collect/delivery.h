/* SPDX-License-Identifier: MIT */
/*
 * delivery.h - the thread that delivers a session opened with NTPROF_SESSION_POLLED, or
 * looks at what preload objects have counted, and a lock that keeps its deliveries out.
 * Between delivery_lock and delivery_unlock only the holder's own calls count hits or
 * notify, so the holder reads counters and statistics that agree.
 */
#ifndef RECORD_COLLECT_DELIVERY_H
#define RECORD_COLLECT_DELIVERY_H

#include <ntprof/ntprof.h>
#include <pthread.h>
#include <stdbool.h>

struct delivery {
    ntprof_session *session;     /* NULL: preload objects count, and look is called */
    void (*look)(void *context); /* looks at what preload objects have counted */
    void *context;
    void (*after)(void *context); /* called after each delivery; or NULL */
    void *after_context;
    pthread_mutex_t lock;
    pthread_t thread;
    int wake_fd; /* eventfd: ends the wait of the thread */
    bool running;
    bool closing; /* the thread has to exit; guarded by lock */
};

/* Prepare a delivery whose thread does not run yet. session is NULL if preload objects
 * count; then delivery_set_look is needed. */
void delivery_init(struct delivery *delivery, ntprof_session *session);

/* Have look called with the lock held, about 20 times a second, instead of delivering a
 * session. Before delivery_start. */
void delivery_set_look(struct delivery *delivery, void (*look)(void *context),
                       void *context);

/* Have after called with the lock held after each delivery or look.
 * Before delivery_start. */
void delivery_set_after(struct delivery *delivery, void (*after)(void *context),
                        void *context);

/* Start the thread. Returns 0 or a negative errno. */
int delivery_start(struct delivery *delivery);

/* Stop and join the thread, if it runs. The caller must not hold the lock. */
void delivery_stop(struct delivery *delivery);

/* Stop the thread if it runs, and free everything. The session stays open. */
void delivery_finish(struct delivery *delivery);

void delivery_lock(struct delivery *delivery);
void delivery_unlock(struct delivery *delivery);

#endif
