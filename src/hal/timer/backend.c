/* SPDX-License-Identifier: MIT */
/*
 * hal/timer/backend.c - HAL_TABLE and HAL_BACKEND over CPU timers of the threads of
 * this process: for profiles of a program's own code where perf events are refused.
 *
 * A hit is put into a queue by the signal handler, without a lock, and delivered by
 * the session's calls and thread. So hits and starts, stops and statistics are
 * serialised by the session's lock, as those of other delivering back ends are.
 *
 * All threads that exist get a timer (are armed) when the first profile starts, threads
 * created later at the next delivery: until then their time is missed. The session's
 * lock guards the members of struct timer_hal, except queue and missed, which signal
 * handlers change.
 */
#include "hal/backend.h"

#include "hal/linux/context.h"
#include "hal/timer/queue.h"
#include "hal/timer/thread_timer.h"
#include "log/log.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

/* The time between deliveries; the length of a set of processors, 64 in each word. */
enum { DELIVERY_MS = 100, NS_PER_100NS = 100, PROCESSOR_WORDS = 64 };

/* The longest interval, a minute. */
static const uint64_t interval_max_100ns = UINT64_C(600000000);

struct timer_hal {
    struct _KE_SYSTEM *ke;
    struct thread_timer timer;
    bool running;                      /* threads have timers */
    bool frozen;                       /* for ever: no thread gets one any more */
    uint64_t started[PROCESSOR_WORDS]; /* processors: bit n%64 of word n/64 */
    uint32_t started_count;
    uint64_t interval_100ns;
    uint64_t interval_asked_100ns; /* 0: no interval was asked for */
    /* A period is the time with one interval: */
    uint64_t begin_ns;     /* process_clock_ns when the current period began */
    uint64_t events_100ns; /* processor time of all periods before it */
    uint64_t expected;     /* hits expected in those */
    uint64_t threads;      /* most threads that had a timer at a time */
    uint64_t elsewhere;    /* hits on processors where no profile was started */
    uint64_t missed;       /* expirations that made no hit; handlers add to it */
    struct timer_queue queue;
    char error[128];
};

/* Return the kernel's tick, which is the shortest interval. */
static uint64_t
tick_100ns(void)
{
    return thread_timer_tick_ns() / NS_PER_100NS;
}

/* Return the processor time that all threads of this process have used. */
static uint64_t
process_clock_ns(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Set the error text. Returns status. */
static NTSTATUS
refuse_start(struct timer_hal *hal, NTSTATUS status, const char *text)
{
    snprintf(hal->error, sizeof(hal->error), "%s", text);
    return status;
}

#ifndef NDEBUG
/* Do the members agree? To be called by all functions that start, stop or change
 * timers. */
static bool
assert_timer_state(const struct timer_hal *hal)
{
    assert(hal->interval_100ns > 0 && hal->interval_100ns <= interval_max_100ns);
    assert(!hal->running || (!hal->frozen && hal->started_count > 0));
    assert(hal->running == (hal->timer.owner == getpid()));
    assert(hal->queue.places != NULL && hal->queue.taken <= hal->queue.put);
    return true;
}
#endif

/* ---- Hits ---- */

/* Queue a hit: called in the signal handler of an expired timer. overrun: expirations
 * before this one that made no hit. */
static void
hit(void *context, uintptr_t pc, unsigned overrun, const ucontext_t *machine)
{
    struct timer_hal *const hal = context;
    const int processor = sched_getcpu();

    (void)machine;
    if (overrun != 0) {
        __atomic_fetch_add(&hal->missed, overrun, __ATOMIC_RELAXED);
    }
    timer_queue_put(&hal->queue, pc, processor >= 0 ? (uint32_t)processor : 0);
}

/* Has a profile been started on this processor? */
static bool
is_started(const struct timer_hal *hal, uint32_t processor)
{
    const uint32_t word = processor / 64;

    return word < PROCESSOR_WORDS && (hal->started[word] >> (processor % 64) & 1) != 0;
}

/* Take all hits from the queue, and pass those on processors with started profiles to
 * the core. */
static void
flush(void *context)
{
    struct timer_hal *const hal = context;
    KE_HIT interrupt = {
        .Source = ProfileTime, .ProcessId = (ULONG64)getpid(), .Scope = KE_SCOPE_BOTH};
    const uint64_t end = timer_queue_end(&hal->queue);
    struct timer_queued queued;

    while (timer_queue_take(&hal->queue, end, &queued)) {
        if (!is_started(hal, queued.processor)) {
            hal->elsewhere++;
            continue;
        }
        interrupt.Address = queued.pc;
        interrupt.Processor = queued.processor;
        KeProfileInterruptWithSource(hal->ke, &interrupt);
    }
}

/* ---- Periods with one interval ---- */

/* End the current period: add its whole intervals to events and expected hits. The next
 * period begins with the rest. */
static void
end_period(struct timer_hal *hal)
{
    const uint64_t interval_ns = hal->interval_100ns * NS_PER_100NS;
    const uint64_t passed = (process_clock_ns() - hal->begin_ns) / interval_ns;

    hal->events_100ns += passed * hal->interval_100ns;
    hal->expected += passed;
    hal->begin_ns += passed * interval_ns;
}

/* ---- HAL_TABLE ---- */

/* Note the processor: begin_profile_interrupts starts the timers for all of them. */
static NTSTATUS
start_profile_interrupt(void *context, KPROFILE_SOURCE source, ULONG processor,
                        ULONG64 pid)
{
    struct timer_hal *const hal = context;

    assert(assert_timer_state(hal));
    if (source != ProfileTime) {
        return refuse_start(hal, STATUS_NOT_SUPPORTED,
                            "back end timer counts only the source 'time'");
    }
    if (pid != (ULONG64)getpid()) {
        return refuse_start(hal, STATUS_NOT_SUPPORTED,
                            "back end timer counts only in its own process");
    }
    if (processor >= PROCESSOR_WORDS * 64) {
        return STATUS_NOT_SUPPORTED;
    }
    assert(!is_started(hal, processor));
    hal->started[processor / 64] |= UINT64_C(1) << (processor % 64);
    hal->started_count++;
    return STATUS_SUCCESS;
}

/* Give each thread of the process a timer. Returns 0 or negative errno. */
static int
arm_all(struct timer_hal *hal)
{
    const int result = thread_timer_arm_all(&hal->timer);
    const uint64_t armed = thread_timer_count(&hal->timer);

    hal->threads = armed > hal->threads ? armed : hal->threads;
    LOG_DEBUG("timers of %llu threads made, queue of %llu bytes: %s",
              (unsigned long long)armed, (unsigned long long)timer_queue_bytes(),
              result < 0 ? strerror(-result) : "all threads");
    return result == -ENOENT ? 0 : result; /* no /proc: the calling thread is armed */
}

static NTSTATUS
begin_profile_interrupts(void *context, KPROFILE_SOURCE source, ULONG64 pid)
{
    struct timer_hal *const hal = context;
    const struct thread_timer_options options = {
        .hit = hit,
        .context = hal,
        .interval_ns = hal->interval_100ns * NS_PER_100NS,
    };
    int result;

    (void)source;
    (void)pid;
    assert(assert_timer_state(hal));
    if (hal->running || hal->frozen || hal->started_count == 0) {
        return STATUS_SUCCESS;
    }
    result = thread_timer_init(&hal->timer, &options);
    if (result < 0) {
        return refuse_start(hal, STATUS_INSUFFICIENT_RESOURCES,
                            "no real-time signal is free");
    }
    hal->begin_ns = process_clock_ns();
    result = arm_all(hal);
    if (result < 0) {
        thread_timer_finish(&hal->timer);
        snprintf(hal->error, sizeof(hal->error),
                 "cannot make a timer for a thread: %s%s", strerror(-result),
                 result == -EAGAIN ? "; raise RLIMIT_SIGPENDING" : "");
        return perf_status_of(result);
    }
    hal->running = true;
    assert(assert_timer_state(hal));
    return STATUS_SUCCESS;
}

/* Delete all timers, if there are any: after that no hit is made. */
static void
end_timers(struct timer_hal *hal)
{
    if (hal->running) {
        thread_timer_finish(&hal->timer);
        LOG_DEBUG("timers deleted");
        end_period(hal);
        hal->running = false;
    }
}

static void
freeze(void *context)
{
    struct timer_hal *const hal = context;

    assert(assert_timer_state(hal));
    end_timers(hal);
    hal->frozen = true;
}

static void
stop_profile_interrupt(void *context, KPROFILE_SOURCE source, ULONG processor,
                       ULONG64 pid)
{
    struct timer_hal *const hal = context;

    (void)source;
    (void)pid;
    assert(assert_timer_state(hal) && is_started(hal, processor));
    /* The last stop ends all timers. The core has flushed before this call, but hits
     * may have been queued since. */
    if (hal->started_count == 1) {
        end_timers(hal);
    }
    flush(hal);
    hal->started[processor / 64] &= ~(UINT64_C(1) << (processor % 64));
    hal->started_count--;
}

static void
query_source(void *context, KPROFILE_SOURCE source, HAL_SOURCE *information)
{
    const struct timer_hal *const hal = context;

    *information = (HAL_SOURCE){.Supported = FALSE};
    if (source == ProfileTime) {
        information->Supported = TRUE;
        information->Interval = hal->interval_100ns;
        information->DefaultInterval = tick_100ns();
        information->MinimumInterval = tick_100ns();
        information->MaximumInterval = interval_max_100ns;
    }
}

static void
set_interval(void *context, KPROFILE_SOURCE source, ULONG64 interval)
{
    struct timer_hal *const hal = context;
    const uint64_t least = tick_100ns();

    if (source != ProfileTime) {
        return;
    }
    assert(assert_timer_state(hal));
    if (hal->running) {
        flush(hal);
        end_period(hal);
    }
    hal->interval_asked_100ns = interval;
    hal->interval_100ns = interval < least                ? least
                          : interval > interval_max_100ns ? interval_max_100ns
                                                          : interval;
    if (hal->running) {
        (void)thread_timer_set_interval(&hal->timer,
                                        hal->interval_100ns * NS_PER_100NS);
    }
}

/* Nothing to wait for: hits are counted under the session's lock, which the caller
 * holds. */
static void
synchronize(void *context)
{
    (void)context;
}

static const HAL_TABLE timer_table = {
    .Size = sizeof(HAL_TABLE),
    .StartProfileInterrupt = start_profile_interrupt,
    .StopProfileInterrupt = stop_profile_interrupt,
    .BeginProfileInterrupts = begin_profile_interrupts,
    .QuerySource = query_source,
    .SetInterval = set_interval,
    .Flush = flush,
    .Synchronize = synchronize,
};

/* ---- HAL_BACKEND ---- */

/* Ignore a hit of the timer that try_timer makes. */
static void
no_hit(void *context, uintptr_t pc, unsigned overrun, const ucontext_t *machine)
{
    (void)context;
    (void)pc;
    (void)overrun;
    (void)machine;
}

/* Find out whether threads can have timers, by making one for the calling thread and
 * deleting it. Returns 0 or negative errno. */
static int
try_timer(void)
{
    const struct thread_timer_options options = {.hit = no_hit,
                                                 .interval_ns = 1000000000 /* 1 s */};
    struct thread_timer timer;
    int result = thread_timer_init(&timer, &options);

    if (result == 0) {
        result = thread_timer_arm(&timer, 0);
        thread_timer_finish(&timer);
    }
    return result;
}

static void
probe(HAL_PROBE *probed)
{
    const int result = try_timer();

    *probed = (HAL_PROBE){.Usable = result == 0, .Error = (ULONG)-result};
    if (result == 0) {
        snprintf(probed->Reason, sizeof(probed->Reason),
                 "timers count only source 'time', in user mode of their own process, "
                 "once a kernel tick of %.3g ms",
                 (double)thread_timer_tick_ns() / 1e6);
        return;
    }
    probed->Shortage = result == -EAGAIN;
    probed->Cause = NTPROF_CAUSE_OTHER;
    snprintf(probed->Reason, sizeof(probed->Reason),
             "cannot make a timer for a thread: %s", strerror(-result));
    snprintf(probed->Remedy, sizeof(probed->Remedy), "%s",
             result == -EAGAIN
                 ? "raise RLIMIT_SIGPENDING, or let the program leave one "
                   "real-time signal unused"
                 : "allow timer_create");
}

static NTSTATUS
open_backend(const HAL_OPEN *open, void **context)
{
    HAL_PROBE unasked;
    HAL_PROBE *const probed = open->Probe != NULL ? open->Probe : &unasked;
    struct timer_hal *hal;

    probe(probed);
    if (!probed->Usable) {
        return probed->Shortage ? STATUS_INSUFFICIENT_RESOURCES : STATUS_NOT_SUPPORTED;
    }
    if (open->CgroupFd != NULL) {
        HalExplainFailure(open, "CPU timers cannot be limited to a cgroup", "");
        return STATUS_INVALID_PARAMETER;
    }
    hal = calloc(1, sizeof(*hal));
    if (hal == NULL || !timer_queue_init(&hal->queue)) {
        free(hal);
        HalExplainFailure(open, "out of memory", "");
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    hal->ke = open->Ke;
    hal->interval_100ns = tick_100ns();
    *context = hal;
    return STATUS_SUCCESS;
}

static void
close_backend(void *context)
{
    struct timer_hal *const hal = context;

    freeze(hal);
    timer_queue_finish(&hal->queue);
    free(hal);
}

static NTSTATUS
lookup_source(void *context, const char *text, KPROFILE_SOURCE *source)
{
    (void)context;
    if (strcasecmp(text, "time") != 0 && strcasecmp(text, "ProfileTime") != 0) {
        return STATUS_NOT_FOUND;
    }
    *source = ProfileTime;
    return STATUS_SUCCESS;
}

static NTSTATUS
next_source(void *context, ULONG index, KPROFILE_SOURCE *source)
{
    (void)context;
    if (index != 0) {
        return STATUS_NOT_FOUND;
    }
    *source = ProfileTime;
    return STATUS_SUCCESS;
}

static NTSTATUS
query_source_statistics(void *context, KPROFILE_SOURCE source, ULONG64 taken,
                        HAL_SOURCE_STATISTICS *answer)
{
    struct timer_hal *const hal = context;
    uint64_t explained;
    uint64_t unexplained;

    if (source != ProfileTime) {
        return STATUS_NOT_FOUND;
    }
    if (hal->running) {
        end_period(hal);
    }
    *answer = (HAL_SOURCE_STATISTICS){
        .Name = "time",
        .NtName = "ProfileTime",
        .Unit = NTPROF_UNIT_100NS,
        .IntervalAsked = hal->interval_asked_100ns,
        .Events = hal->events_100ns,
        .Lost = timer_queue_lost(&hal->queue),
        .Missed = __atomic_load_n(&hal->missed, __ATOMIC_RELAXED),
    };
    /* Intervals that are not explained: the last one of each thread did not end before
     * the thread did (unfinished); the others passed in threads without a timer. */
    explained = taken + answer->Lost + answer->Missed + hal->elsewhere;
    unexplained = hal->expected > explained ? hal->expected - explained : 0;
    answer->Unfinished = unexplained < hal->threads ? unexplained : hal->threads;
    answer->Missed += unexplained - answer->Unfinished;
    answer->Expected = taken + answer->Lost + answer->Missed + answer->Unfinished;
    return STATUS_SUCCESS;
}

static void
query_statistics(void *context, HAL_STATISTICS *statistics)
{
    const struct timer_hal *const hal = context;

    *statistics = (HAL_STATISTICS){.Processes = hal->running ? 1 : 0,
                                   .RingBytes = timer_queue_bytes()};
}

/* There is no descriptor to poll: deliver says when it is to be called. */
static int
descriptor(void *context)
{
    (void)context;
    return -1;
}

/* Deliver queued hits, and give timers to threads created since the last delivery.
 * Returns ms until the next call, -1: no further call is needed. */
static int
deliver(void *context)
{
    struct timer_hal *const hal = context;

    if (hal->running) {
        (void)arm_all(hal);
    }
    flush(hal);
    return hal->running ? DELIVERY_MS : -1;
}

static const char *
last_error(void *context)
{
    const struct timer_hal *const hal = context;

    return hal->error;
}

static void
clear_error(void *context)
{
    struct timer_hal *const hal = context;

    hal->error[0] = '\0';
}

const HAL_BACKEND HalTimerBackend = {
    .Name = "timer",
    .Hal = &timer_table,
    .ByName = TRUE, /* it sees only its own process, and a signal of it is taken */
    .Probe = probe,
    .Open = open_backend,
    .Close = close_backend,
    .LookupSource = lookup_source,
    .NextSource = next_source,
    .QuerySourceStatistics = query_source_statistics,
    .QueryStatistics = query_statistics,
    .Descriptor = descriptor,
    .Deliver = deliver,
    .Freeze = freeze,
    .Error = last_error,
    .ClearError = clear_error,
};
