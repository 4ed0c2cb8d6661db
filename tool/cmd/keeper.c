/* SPDX-License-Identifier: MIT */
/* keeper.c - a thread that folds counters and rewrites the file at intervals. */
#include "cmd/keeper.h"
#include "util/clock.h"

#include <errno.h>
#include <signal.h>

static uint64_t
add_time(uint64_t time_ns, uint64_t more_ns)
{
    return more_ns > INT64_MAX - time_ns ? INT64_MAX : time_ns + more_ns;
}

/* Wait until that time. Returns false if the thread has to exit. */
static bool
wait_until(struct keeper *keeper, uint64_t until_ns)
{
    const struct timespec until = clock_timespec(until_ns);
    bool go_on;

    pthread_mutex_lock(&keeper->lock);
    while (!keeper->closing &&
           pthread_cond_timedwait(&keeper->wake, &keeper->lock, &until) != ETIMEDOUT) {
    }
    go_on = !keeper->closing;
    pthread_mutex_unlock(&keeper->lock);
    return go_on;
}

static void *
keeper_main(void *argument)
{
    struct keeper *const keeper = argument;
    const uint64_t fold_ns = COLLECTOR_FOLD_S * CLOCK_SECOND_NS;
    uint64_t next_fold_ns = clock_now_ns() + fold_ns;
    uint64_t next_write_ns =
        keeper->every_ns != 0 ? add_time(clock_now_ns(), keeper->every_ns) : UINT64_MAX;

    pthread_setname_np(pthread_self(), "ntprof-keeper");
    while (wait_until(keeper,
                      next_fold_ns < next_write_ns ? next_fold_ns : next_write_ns)) {
        if (clock_now_ns() >= next_write_ns) {
            keeper->rewrite(keeper->context);
            /* After a slow rewrite, wait a whole interval. Otherwise rewriting would
             * never pause. */
            next_write_ns = add_time(next_write_ns, keeper->every_ns);
            if (next_write_ns < clock_now_ns()) {
                next_write_ns = add_time(clock_now_ns(), keeper->every_ns);
            }
        }
        if (clock_now_ns() >= next_fold_ns) {
            (void)collector_fold(
                keeper->collector); /* a later fold adds what this one could not */
            next_fold_ns = clock_now_ns() + fold_ns;
        }
    }
    return NULL;
}

int
keeper_start(struct keeper *keeper, struct collector *collector, uint64_t every_ns,
             void (*rewrite)(void *context), void *context)
{
    pthread_condattr_t attributes;
    sigset_t all;
    sigset_t old;
    int failure;

    *keeper = (struct keeper){.collector = collector,
                              .every_ns = every_ns,
                              .rewrite = rewrite,
                              .context = context};
    pthread_mutex_init(&keeper->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&keeper->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    /* The main thread handles all signals. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    failure = pthread_create(&keeper->thread, NULL, keeper_main, keeper);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    keeper->running = failure == 0;
    return -failure;
}

void
keeper_stop(struct keeper *keeper)
{
    if (!keeper->running) {
        return;
    }
    pthread_mutex_lock(&keeper->lock);
    keeper->closing = true;
    pthread_cond_signal(&keeper->wake);
    pthread_mutex_unlock(&keeper->lock);
    pthread_join(keeper->thread, NULL);
    keeper->running = false;
}
