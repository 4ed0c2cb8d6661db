/* SPDX-License-Identifier: MIT */
/* thread_scan.c - which threads a scan hands out and waits for, and what threads made
 * meanwhile do to a start. */
#include "breakpoints.h"
#include "cmocka_all.h"
#include "fake_ke.h"

#include "hal/linux/descriptor.h"
#include "hal/perf/opening.h"
#include "hal/perf/start.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RUN_NS = 500000 };

static struct perf_features features;

static struct thread {
    pthread_t id;
    _Atomic uint32_t tid;
    atomic_bool over;
    int pipe[2];
} other;

static uint32_t
own_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static void *
run(void *argument)
{
    (void)argument;
    atomic_store(&other.tid, own_tid());
    while (!atomic_load(&other.over)) {
    }
    return NULL;
}

static void *
rest(void *argument)
{
    char byte;

    (void)argument;
    atomic_store(&other.tid, own_tid());
    assert_int_equal(read(other.pipe[0], &byte, 1), 0);
    return NULL;
}

static void
other_begin(void *(*what)(void *))
{
    atomic_store(&other.tid, 0);
    atomic_store(&other.over, false);
    assert_int_equal(pipe(other.pipe), 0);
    assert_int_equal(pthread_create(&other.id, NULL, what, NULL), 0);
    while (atomic_load(&other.tid) == 0) {
        usleep(1000);
    }
}

static void
other_end(void)
{
    atomic_store(&other.over, true);
    close(other.pipe[1]);
    pthread_join(other.id, NULL);
    close(other.pipe[0]);
}

/* ---- rounds ---- */

/* The linker has the back end call this instead (--wrap). */
int __real_perf_thread_scan_round(struct perf_thread_scan *scan,
                                  const struct perf_features *scan_features, bool first,
                                  perf_thread_found *found, void *context);
int __wrap_perf_thread_scan_round(struct perf_thread_scan *scan,
                                  const struct perf_features *scan_features, bool first,
                                  perf_thread_found *found, void *context);

enum { MADE_MAX = 100 };

static struct {
    unsigned rounds;
    unsigned attempts;
    unsigned make_in_attempts; /* a thread before each late round of so many */
    pthread_t made[MADE_MAX];
    size_t made_count;
    int pipe[2];
} scans;

static void *
rest_with_others(void *argument)
{
    char byte;

    assert_int_equal(read(scans.pipe[0], &byte, 1), 0);
    return argument;
}

int
__wrap_perf_thread_scan_round(struct perf_thread_scan *scan,
                              const struct perf_features *scan_features, bool first,
                              perf_thread_found *found, void *context)
{
    scans.rounds++;
    scans.attempts += first;
    if (!first && scans.attempts <= scans.make_in_attempts) {
        assert_true(scans.made_count < MADE_MAX);
        assert_int_equal(pthread_create(&scans.made[scans.made_count++], NULL,
                                        rest_with_others, NULL),
                         0);
    }
    return __real_perf_thread_scan_round(scan, scan_features, first, found, context);
}

struct handed_out {
    unsigned own;
    unsigned other;
    bool late;
};

static int
note_thread(void *context, uint32_t tid, bool late)
{
    struct handed_out *const handed_out = context;

    handed_out->own += tid == own_tid();
    handed_out->other += tid == atomic_load(&other.tid);
    handed_out->late = handed_out->late || late;
    return 0;
}

/* A scan of this process that may wait for so long. */
static void
scan_init(struct perf_thread_scan *scan, uint64_t patience_ns)
{
    *scan = (struct perf_thread_scan){.pause = fake_pause,
                                      .deadline_ns = perf_elapsed_ns() + patience_ns};
    assert_int_equal(perf_tids_add(&scan->pids, (uint32_t)getpid()), 0);
}

static uint64_t
cpu_ns(pthread_t thread)
{
    struct timespec used;
    clockid_t clock;

    assert_int_equal(pthread_getcpuclockid(thread, &clock), 0);
    assert_int_equal(clock_gettime(clock, &used), 0);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void
round__thread_that_runs__handed_out_once_and_waited_for(void **state)
{
    struct perf_thread_scan scan;
    struct handed_out first = {0};
    struct handed_out second = {0};
    uint64_t before_ns;

    (void)state;
    other_begin(run);
    scan_init(&scan, UINT64_C(60000000000));
    before_ns = cpu_ns(other.id);
    assert_true(perf_thread_scan_round(&scan, &features, true, note_thread, &first) >=
                2);
    /* An event's time includes interrupts and time that a host took; this clock does
     * not. */
    assert_true(cpu_ns(other.id) - before_ns >= RUN_NS / 4);
    assert_false(scan.incomplete);
    assert_int_equal(first.own, 1);
    assert_int_equal(first.other, 1);
    assert_false(first.late);
    assert_int_equal(
        perf_thread_scan_round(&scan, &features, false, note_thread, &second), 0);
    assert_int_equal(second.other, 0);
    assert_false(scan.incomplete);
    perf_thread_scan_reset(&scan);
    assert_true(perf_thread_scan_round(&scan, &features, true, note_thread, &second) >=
                2);
    assert_int_equal(second.other, 1);
    perf_thread_scan_finish(&scan);
    other_end();
}

/* No time is left to see it run. */
static void
round__thread_that_is_not_seen_to_run__incomplete(void **state)
{
    struct perf_thread_scan scan;
    struct handed_out handed_out = {0};

    (void)state;
    other_begin(run);
    scan_init(&scan, 0);
    assert_true(
        perf_thread_scan_round(&scan, &features, true, note_thread, &handed_out) >= 2);
    assert_true(scan.incomplete);
    assert_int_equal(scan.running_count, 0);
    perf_thread_scan_finish(&scan);
    other_end();
}

static void
round__threads_that_sleep__not_waited_for(void **state)
{
    struct perf_thread_scan scan;
    struct handed_out handed_out = {0};

    (void)state;
    other_begin(rest);
    /* It has told its number, and may be on its way to sleep for a moment still. */
    while (perf_procfs_state((uint32_t)getpid(), atomic_load(&other.tid)) != 'S') {
        usleep(1000);
    }
    scan_init(&scan, 0);
    assert_true(
        perf_thread_scan_round(&scan, &features, true, note_thread, &handed_out) >= 2);
    assert_false(scan.incomplete);
    perf_thread_scan_finish(&scan);
    other_end();
}

static void
round__process_that_is_gone__nothing_found(void **state)
{
    struct perf_thread_scan scan = {.pause = fake_pause};
    struct handed_out handed_out = {0};

    (void)state;
    assert_int_equal(perf_tids_add(&scan.pids, 0x7ffffffe), 0);
    assert_int_equal(
        perf_thread_scan_round(&scan, &features, true, note_thread, &handed_out), 0);
    assert_false(scan.incomplete);
    perf_thread_scan_finish(&scan);
}

/* ---- starts ---- */

static struct _KE_SYSTEM ke;

/* A start of a source in this process that is yet to begin on all processors, while
 * another thread runs. */
static struct perf *
start_everywhere(const char *name, struct perf_source **source)
{
    const HAL_OPEN open = {.Ke = &ke,
                           .Processors = fake_processors,
                           .Notify = fake_notify,
                           .Pause = fake_pause,
                           .NotifyContext = &ke};
    struct perf *perf;
    void *context;

    other_begin(run);
    assert_int_equal(HalPerfBackend.Open(&open, &context), STATUS_SUCCESS);
    perf = context;
    assert_int_equal(perf_sources_lookup(&perf->context.sources, name, source), 0);
    scans.rounds = 0;
    scans.attempts = 0;
    assert_int_equal(pipe(scans.pipe), 0);
    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        assert_int_equal(perf_start(perf, *source, i, (uint32_t)getpid()), 0);
    }
    assert_int_equal(scans.rounds, 0);
    return perf;
}

static void
end(struct perf *perf)
{
    HalPerfBackend.Close(perf);
    fake_clear(&ke);
    scans.make_in_attempts = 0;
    close(scans.pipe[1]);
    while (scans.made_count > 0) {
        pthread_join(scans.made[--scans.made_count], NULL);
    }
    close(scans.pipe[0]);
    other_end();
}

static struct perf_event *
event_of(const struct perf *perf, uint32_t processor, uint32_t tid)
{
    const struct perf_target *const target =
        perf_find_private(perf, (uint32_t)getpid());

    for (size_t i = 0; target != NULL && i < target->events.count; i++) {
        if (target->events.items[i]->processor == processor &&
            target->events.items[i]->tid == tid) {
            return target->events.items[i];
        }
    }
    return NULL;
}

/* Both threads have events on all processors, which may be duplicates or not. */
static void
assert_opened(const struct perf *perf, bool may_duplicate)
{
    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        const struct perf_event *const own = event_of(perf, i, own_tid());
        const struct perf_event *const others =
            event_of(perf, i, atomic_load(&other.tid));

        assert_true((own != NULL) == (perf->rings[i] != NULL));
        assert_true((others != NULL) == (perf->rings[i] != NULL));
        assert_true(own == NULL || own->may_duplicate == may_duplicate);
    }
}

static void
start__thread_that_runs__two_rounds_for_all_processors(void **state)
{
    struct perf_source *time;
    struct perf *const perf = start_everywhere("time", &time);

    (void)state;
    assert_int_equal(perf_begin(perf, time, (uint32_t)getpid()), 0);
    assert_int_equal(scans.rounds, 2);
    assert_opened(perf, false);
    assert_int_equal(perf->unread, 0);
    /* Nothing is left to begin. */
    assert_int_equal(perf_begin(perf, time, (uint32_t)getpid()), 0);
    assert_int_equal(scans.rounds, 2);
    end(perf);
}

static void
start__threads_made_all_the_time__ends_and_is_reported(void **state)
{
    struct perf_source *time;
    struct perf *const perf = start_everywhere("time", &time);

    (void)state;
    scans.make_in_attempts = 1;
    assert_int_equal(perf_begin(perf, time, (uint32_t)getpid()), 0);
    assert_int_equal(scans.attempts, 1);
    assert_true(scans.made_count > 1);
    assert_opened(perf, true);
    assert_int_equal(perf->unread, 1);
    end(perf);
}

static struct perf *
start_breakpoint(struct perf_source **source)
{
    char name[64];
    struct perf *perf;

    need_breakpoints();
    snprintf(name, sizeof(name), "breakpoint:0x%" PRIxPTR, (uintptr_t)&own_tid);
    perf = start_everywhere(name, source);
    return perf;
}

static void
start__breakpoint_and_a_thread_made_meanwhile__begun_again(void **state)
{
    struct perf_source *source;
    struct perf *const perf = start_breakpoint(&source);

    (void)state;
    scans.make_in_attempts = 1;
    assert_int_equal(perf_begin(perf, source, (uint32_t)getpid()), 0);
    assert_int_equal(scans.attempts, 2);
    assert_int_equal(scans.made_count, 1);
    assert_opened(perf, false);
    assert_int_equal(perf->unread, 0);
    end(perf);
}

static void
start__breakpoint_and_threads_made_all_the_time__refused(void **state)
{
    struct perf_source *source;
    struct perf *const perf = start_breakpoint(&source);
    const size_t before = perf->events.count;

    (void)state;
    scans.make_in_attempts = 2;
    assert_int_equal(perf_begin(perf, source, (uint32_t)getpid()), -EAGAIN);
    assert_int_equal(scans.attempts, 2);
    assert_non_null(strstr(perf->context.error, "threads are being created"));
    assert_int_equal(perf->events.count, before);
    assert_null(perf->targets);
    assert_int_equal(perf->unread, 0);
    end(perf);
}

/* As ke does when a start fails on a later processor. */
static void
start__stopped_before_it_began__nothing_opened(void **state)
{
    struct perf_source *time;
    struct perf *const perf = start_everywhere("time", &time);
    const size_t before = perf->events.count;

    (void)state;
    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        perf_stop(perf, time, i, (uint32_t)getpid());
    }
    assert_null(perf->targets);
    assert_int_equal(perf_begin(perf, time, (uint32_t)getpid()), 0);
    assert_int_equal(scans.rounds, 0);
    assert_null(perf->targets);
    assert_int_equal(perf->events.count, before);
    end(perf);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round__thread_that_runs__handed_out_once_and_waited_for),
        cmocka_unit_test(round__thread_that_is_not_seen_to_run__incomplete),
        cmocka_unit_test(round__threads_that_sleep__not_waited_for),
        cmocka_unit_test(round__process_that_is_gone__nothing_found),
        cmocka_unit_test(start__thread_that_runs__two_rounds_for_all_processors),
        cmocka_unit_test(start__threads_made_all_the_time__ends_and_is_reported),
        cmocka_unit_test(start__breakpoint_and_a_thread_made_meanwhile__begun_again),
        cmocka_unit_test(start__breakpoint_and_threads_made_all_the_time__refused),
        cmocka_unit_test(start__stopped_before_it_began__nothing_opened),
    };

    perf_features_probe(&features, false);
    return cmocka_run_group_tests_name("thread_scan", tests, NULL, NULL);
}
