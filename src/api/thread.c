/* SPDX-License-Identifier: MIT */
/* api/thread.c - the thread of a session, which delivers when the back end has
 * something. */
#include "api/api.h"

#include "log/log.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Milliseconds from a flush of buffers to the next at least, and to the next delivery
 * at most: the header of NtStartProfile promises 150. */
enum { FLUSH_MS = 100, FRESH_MS = 140 };

/* A delivery that takes at least this long is logged. */
enum { LONG_DELIVERY_MS = 50 };

static uint64_t
thread_cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int64_t
clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * Brings buffers that are not live (MDL.Live) up to date after a delivery, but not
 * after each of many, because going through all started profiles takes time. A flush
 * within FLUSH_MS of the last one is postponed, unless no delivery is to follow.
 *
 *   wait_ms  in: time until the next delivery; -1: none is needed
 *
 * Returns the time until the next delivery, which may be shorter because of a flush.
 */
static int
deliver_to_buffers(ntprof_session *session, int wait_ms)
{
    const int64_t now_ms = clock_ms();
    const int64_t rest_ms = session->flushed_ms + FLUSH_MS - now_ms;

    if (session->system.StartedCount == 0) {
        return wait_ms;
    }
    if (wait_ms >= 0 && rest_ms > 0) {
        return rest_ms < wait_ms ? (int)rest_ms : wait_ms;
    }
    session->flushed_ms = now_ms;
    return ExFlushBuffers(&session->system) && wait_ms > FRESH_MS ? FRESH_MS : wait_ms;
}

/* Logs a delivery if it took long. */
static void
log_delivery(int64_t took_ms, uint64_t cpu_ns)
{
    if (took_ms >= LONG_DELIVERY_MS) {
        LOG_DEBUG("a delivery took %lld ms, %llu ms of them on a processor",
                  (long long)took_ms, (unsigned long long)(cpu_ns / 1000000));
    }
}

int
api_deliver(ntprof_session *session)
{
    const int64_t begin_ms = clock_ms();
    const uint64_t begin_ns = thread_cpu_ns();
    uint64_t cpu_ns;
    int wait_ms;

    assert(!session->paused); /* what is started does not change meanwhile */
    wait_ms = session->backend->Deliver(session->backend_context);
    assert(wait_ms >= -1);
    wait_ms = deliver_to_buffers(session, wait_ms);
    cpu_ns = thread_cpu_ns() - begin_ns; /* a system call, unlike clock_ms() */
    log_delivery(clock_ms() - begin_ms, cpu_ns);
    session->delivery_ns += cpu_ns;
    session->deliveries++;
    api_notice_halt(session);
    return wait_ms;
}

/* The session's thread: delivers what is due, then sleeps until the back end's
 * descriptor or wake_fd is readable, or more is due. Ends when the session closes, or
 * is abandoned. */
static void *
thread_main(void *argument)
{
    ntprof_session *const session = argument;
    struct pollfd fds[2];

    pthread_setname_np(pthread_self(), "ntprof");
    fds[0] = (struct pollfd){.fd = session->wake_fd, .events = POLLIN};
    fds[1] = (struct pollfd){
        .fd = session->backend->Descriptor(session->backend_context), .events = POLLIN};
    for (;;) {
        int wait_ms;
        uint64_t count;

        if (!api_lock(session)) {
            return NULL;
        }
        if (session->closing) {
            (void)api_unlock(session);
            return NULL;
        }
        wait_ms = api_deliver(session);
        session->idle = wait_ms < 0;
        (void)api_unlock(session);

        (void)poll(fds, 2, wait_ms);
        if ((fds[0].revents & POLLIN) != 0 &&
            read(session->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN) {
            return NULL; /* cannot happen: it is our own eventfd */
        }
    }
}

NTSTATUS
api_start_thread(ntprof_session *session)
{
    sigset_t all;
    sigset_t old;
    int failure;

    assert(!session->threaded && session->wake_fd < 0);
    session->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (session->wake_fd < 0) {
        return api_lack("cannot wake the session's thread", -errno);
    }
    /* The program's signals are for its own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    failure = pthread_create(&session->thread, NULL, thread_main, session);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failure != 0) {
        close(session->wake_fd);
        session->wake_fd = -1;
        return api_lack("cannot make the session's thread", -failure);
    }
    session->threaded = true;
    return STATUS_SUCCESS;
}

/* Make wake_fd readable, which ends the thread's sleep. */
static void
thread_signal(const ntprof_session *session)
{
    const uint64_t one = 1;

    /* EAGAIN: it is signalled already. */
    while (write(session->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

void
api_wake_thread(ntprof_session *session)
{
    if (session->threaded && session->idle) {
        session->idle = false;
        thread_signal(session);
    }
}

void
api_stop_thread(ntprof_session *session)
{
    if (!session->threaded) {
        return;
    }
    assert(session->wake_fd >= 0 && !session->closing);
    pthread_mutex_lock(&session->lock);
    log_enter();
    session->closing = true;
    (void)api_unlock(session);
    thread_signal(session);
    pthread_join(session->thread, NULL);
    close(session->wake_fd);
    session->threaded = false;
}
