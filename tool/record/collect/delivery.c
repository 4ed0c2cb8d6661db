/* SPDX-License-Identifier: MIT */
/*
 * delivery.c - the thread that delivers, and its lock.
 *
 * To deliver is to call ntprof_session_poll, in which the session counts the hits that
 * are due and notifies of processes and mappings.
 */
#include "record/collect/delivery.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

/* The longest wait between two deliveries, or two looks. The collector opens a file
 * when its mapping is delivered: delivering more often than the session requires finds
 * more short-lived processes, or their parents or containers, still running. */
static const int wait_most_ms = 50;

/* If the session refuses to deliver, wait this long before the next attempt. */
static const int refused_wait_ms = 1000;

void
delivery_init(struct delivery *delivery, ntprof_session *session)
{
    *delivery = (struct delivery){.session = session, .wake_fd = -1};
    pthread_mutex_init(&delivery->lock, NULL);
}

void
delivery_set_look(struct delivery *delivery, void (*look)(void *context), void *context)
{
    delivery->look = look;
    delivery->context = context;
}

void
delivery_set_after(struct delivery *delivery, void (*after)(void *context),
                   void *context)
{
    delivery->after = after;
    delivery->after_context = context;
}

void
delivery_lock(struct delivery *delivery)
{
    pthread_mutex_lock(&delivery->lock);
}

void
delivery_unlock(struct delivery *delivery)
{
    pthread_mutex_unlock(&delivery->lock);
}

/* Deliver what is due, or look, and store in *wait_ms how long the next delivery can
 * wait; < 0: any time. Returns false if the thread has to exit. */
static bool
deliver(struct delivery *delivery, int *wait_ms)
{
    bool go_on;

    delivery_lock(delivery);
    go_on = !delivery->closing;
    if (go_on && delivery->session == NULL) {
        delivery->look(delivery->context);
        *wait_ms = wait_most_ms;
    } else if (go_on && !NT_SUCCESS(ntprof_session_poll(delivery->session, wait_ms))) {
        *wait_ms = refused_wait_ms;
    }
    if (go_on && delivery->after != NULL) {
        delivery->after(delivery->after_context);
    }
    delivery_unlock(delivery);
    return go_on;
}

/* If a round takes this much longer than its work and its wait, this thread has waited
 * for a processor: timers alone are not so late. */
static const uint64_t late_ms = 15;

/*
 * Raise the priority of this thread, if the caller may: the session's rings overflow
 * while it waits for a processor.
 *
 * It is raised only when needed. When a thread is switched off within an interval and a
 * thread of the same process follows it directly, the kernel hands the rest of the
 * interval on to that one. If this thread runs between the two, the rest stays with the
 * first, and is unfinished if that thread never runs again.
 *
 * The profiled command does not inherit the priority, since another thread starts it.
 */
static void
raise_priority(void)
{
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), -20);
}

/* Return a time that advances while this thread waits, for work or for a processor. */
static uint64_t
time_without_work_ns(void)
{
    return clock_now_ns() - clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Deliver until delivery_stop. If one round of delivering and waiting takes much longer
 * than it should, the thread is short of processor time, and raises its priority. */
static void *
delivery_main(void *argument)
{
    struct delivery *const delivery = argument;
    struct pollfd fds[2] = {
        {.fd = delivery->wake_fd, .events = POLLIN},
        {.fd = delivery->session != NULL ? ntprof_session_fd(delivery->session) : -1,
         .events = POLLIN},
    };
    int wait_ms = 0;
    bool raised = false;

    pthread_setname_np(pthread_self(), "ntprof");
    ntprof_session_use(delivery->session); /* in notifications it is used anyway */
    for (;;) {
        const uint64_t idle_ns = time_without_work_ns();

        if (!deliver(delivery, &wait_ms)) {
            break;
        }
        if (wait_ms < 0 || wait_ms > wait_most_ms) {
            wait_ms = wait_most_ms;
        }
        (void)poll(fds, 2, wait_ms);
        if (!raised && time_without_work_ns() - idle_ns >
                           ((uint64_t)wait_ms + late_ms) * 1000000) {
            raised = true;
            raise_priority();
        }
    }
    return NULL;
}

int
delivery_start(struct delivery *delivery)
{
    sigset_t all;
    sigset_t old;
    int failure;

    assert(!delivery->running && !delivery->closing && delivery->wake_fd < 0);
    assert(delivery->session != NULL || delivery->look != NULL);
    delivery->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (delivery->wake_fd < 0) {
        return -errno;
    }
    /* The main thread handles all signals. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    failure = pthread_create(&delivery->thread, NULL, delivery_main, delivery);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    delivery->running = failure == 0;
    return -failure;
}

void
delivery_stop(struct delivery *delivery)
{
    const uint64_t one = 1;

    if (!delivery->running) {
        return;
    }
    assert(!pthread_equal(delivery->thread, pthread_self()));
    delivery_lock(delivery);
    delivery->closing = true;
    delivery_unlock(delivery);
    while (write(delivery->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    pthread_join(delivery->thread, NULL);
    delivery->running = false;
}

void
delivery_finish(struct delivery *delivery)
{
    delivery_stop(delivery);
    if (delivery->wake_fd >= 0) {
        close(delivery->wake_fd);
    }
    pthread_mutex_destroy(&delivery->lock);
}
