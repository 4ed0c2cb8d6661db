/* SPDX-License-Identifier: MIT */
/* worker.c - passes jobs to a thread and back. */
#include "top/worker.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Wait for a job. Returns false if the thread has to exit. */
static bool
wait_for_job(struct top_worker *worker)
{
    bool go_on;

    pthread_mutex_lock(&worker->lock);
    while (!worker->closing && worker->state != WORKER_BUSY) {
        pthread_cond_wait(&worker->wake, &worker->lock);
    }
    go_on = !worker->closing;
    pthread_mutex_unlock(&worker->lock);
    return go_on;
}

static void *
worker_main(void *argument)
{
    struct top_worker *const worker = argument;

    pthread_setname_np(pthread_self(), "ntprof-looks");
    while (wait_for_job(worker)) {
        const uint64_t one = 1;

        /* No lock is held: the main thread does not touch the job until its
         * state is WORKER_DONE. */
        worker->run(worker->context, &worker->job);
        pthread_mutex_lock(&worker->lock);
        worker->state = WORKER_DONE;
        pthread_mutex_unlock(&worker->lock);
        while (write(worker->done_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
        }
    }
    return NULL;
}

int
top_worker_start(struct top_worker *worker,
                 void (*run)(void *context, struct top_job *job), void *context)
{
    sigset_t all;
    sigset_t old;
    int failure;

    *worker = (struct top_worker){.run = run, .context = context};
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->wake, NULL);
    worker->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (worker->done_fd < 0) {
        return -errno;
    }
    /* The main thread handles all signals. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    failure = pthread_create(&worker->thread, NULL, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    worker->running = failure == 0;
    if (failure != 0) {
        close(worker->done_fd);
        worker->done_fd = -1;
    }
    return -failure;
}

bool
top_worker_give(struct top_worker *worker, const struct top_job *job)
{
    bool idle;

    pthread_mutex_lock(&worker->lock);
    idle = worker->state == WORKER_IDLE;
    if (idle) {
        worker->job = *job;
        worker->state = WORKER_BUSY;
        pthread_cond_signal(&worker->wake);
    }
    pthread_mutex_unlock(&worker->lock);
    return idle;
}

bool
top_worker_take(struct top_worker *worker, struct top_job *job)
{
    uint64_t times;
    bool done;

    if (worker->done_fd >= 0 && read(worker->done_fd, &times, sizeof(times)) < 0) {
        /* There may be nothing to read; only the state decides whether a job is
         * done. */
    }
    pthread_mutex_lock(&worker->lock);
    done = worker->state == WORKER_DONE;
    if (done) {
        *job = worker->job;
        worker->state = WORKER_IDLE;
    }
    pthread_mutex_unlock(&worker->lock);
    return done;
}

void
top_worker_stop(struct top_worker *worker)
{
    if (!worker->running) {
        return;
    }
    pthread_mutex_lock(&worker->lock);
    worker->closing = true;
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    worker->running = false;
    close(worker->done_fd);
    worker->done_fd = -1;
}
