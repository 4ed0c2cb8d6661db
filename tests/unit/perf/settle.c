/* SPDX-License-Identifier: MIT */
/* settle.c - which threads are waited for before a process counts as opened whole, and how often. */
#include "cmocka_all.h"
#include "fake_ke.h"

#include "hal/linux/descriptor.h"
#include "hal/perf/settle.h"
#include "hal/perf/target.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RUN_NS = 500000, LITTLE_PATIENCE_NS = 300000000 };
static const uint64_t PATIENCE_NS = 10000000000;

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

static void
count_pause(void *pauses)
{
    ++*(unsigned *)pauses;
}

static bool
waits_for(uint32_t tid)
{
    struct perf_settling settling = {0};
    uint64_t patience_ns = PATIENCE_NS;
    unsigned pauses = 0;

    assert_int_equal(perf_settle_add(&settling, &features, (uint32_t)getpid(), tid), 0);
    if (settling.count == 0) {
        return false;
    }
    assert_true(
        perf_settle_wait(&settling, &features, &patience_ns, count_pause, &pauses));
    assert_true(pauses > 0);
    return true;
}

static uint64_t
running_ns(int fd)
{
    const struct perf_event event = {.fd = fd};
    struct perf_counts counts;

    perf_event_read_counts(&event, &features, &counts);
    return counts.running_ns;
}

static void
settle__a_thread_that_runs__waits_until_it_has_run(void **state)
{
    struct perf_settling settling = {0};
    uint64_t patience_ns = PATIENCE_NS;
    unsigned pauses = 0;
    int kept;

    (void)state;
    other_begin(run);
    assert_int_equal(perf_settle_add(&settling, &features, (uint32_t)getpid(),
                                     atomic_load(&other.tid)),
                     0);
    assert_int_equal(settling.count, 1);
    assert_true(settling.items[0].fd >= 0);
    kept = dup(settling.items[0].fd);
    assert_true(
        perf_settle_wait(&settling, &features, &patience_ns, count_pause, &pauses));
    assert_true(pauses > 0);
    assert_int_equal(settling.count, 0);
    assert_true(patience_ns < PATIENCE_NS);
    assert_true(running_ns(kept) >= RUN_NS);
    close(kept);
    other_end();
}

/* Nothing tells that it has run: so it never has. */
static void
settle__a_thread_that_never_runs__given_up_when_patience_is(void **state)
{
    struct perf_settling settling = {0};
    uint64_t patience_ns = LITTLE_PATIENCE_NS;
    unsigned pauses = 0;

    (void)state;
    other_begin(run);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(perf_settle_add(&settling, &features, (uint32_t)getpid(),
                                         atomic_load(&other.tid)),
                         0);
        assert_int_equal(settling.count, 1);
        perf_descriptor_close(settling.items[0].fd);
        settling.items[0].fd = -1;
        assert_false(
            perf_settle_wait(&settling, &features, &patience_ns, count_pause, &pauses));
        assert_int_equal(settling.count, 0);
        assert_int_equal(patience_ns, 0);
    }
    other_end();
}

static void
settle__a_thread_that_sleeps__not_waited_for(void **state)
{
    (void)state;
    other_begin(rest);
    /* It has told its number, and may be on its way to sleep for a moment still. */
    while (waits_for(atomic_load(&other.tid))) {
        usleep(1000);
    }
    other_end();
}

static void
settle__own_thread_and_one_that_is_gone__not_waited_for(void **state)
{
    (void)state;
    assert_false(waits_for(own_tid()));
    other_begin(rest);
    other_end();
    assert_false(waits_for(atomic_load(&other.tid)));
}

/* ---- starts ---- */

/* The linker has the back end call this instead (--wrap). */
bool __real_perf_settle_wait(struct perf_settling *settling,
                             const struct perf_features *wait_features,
                             uint64_t *patience_ns, perf_settle_meanwhile *meanwhile,
                             void *context);
bool __wrap_perf_settle_wait(struct perf_settling *settling,
                             const struct perf_features *wait_features,
                             uint64_t *patience_ns, perf_settle_meanwhile *meanwhile,
                             void *context);

static size_t waits;

bool
__wrap_perf_settle_wait(struct perf_settling *settling,
                        const struct perf_features *wait_features,
                        uint64_t *patience_ns, perf_settle_meanwhile *meanwhile,
                        void *context)
{
    waits += settling->count > 0;
    return __real_perf_settle_wait(settling, wait_features, patience_ns, meanwhile,
                                   context);
}

static struct _KE_SYSTEM ke;

/* A start of ProfileTime in this process that is yet to begin on all processors, while another thread runs. */
static struct perf *
start_everywhere(struct perf_source **time)
{
    struct perf *perf;

    other_begin(run);
    assert_int_equal(perf_create(&ke, fake_notify, &ke, false, false, &perf), 0);
    *time = perf_sources_find(&perf->sources, ProfileTime);
    waits = 0;
    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        assert_int_equal(perf_start(perf, *time, i, (uint32_t)getpid()), 0);
    }
    assert_int_equal(waits, 0);
    return perf;
}

static void
end(struct perf *perf)
{
    perf_delete(perf);
    fake_clear(&ke);
    other_end();
}

static size_t
events_of(const struct perf *perf, uint32_t processor, uint32_t tid)
{
    const struct perf_target *const target =
        perf_find_private(perf, (uint32_t)getpid());
    size_t count = 0;

    for (size_t i = 0; target != NULL && i < target->events.count; i++) {
        count += target->events.items[i]->processor == processor &&
                 target->events.items[i]->tid == tid;
    }
    return count;
}

static void
start__thread_that_runs__waited_for_once_for_all_processors(void **state)
{
    struct perf_source *time;
    struct perf *const perf = start_everywhere(&time);

    (void)state;
    assert_int_equal(perf_begin(perf, time, (uint32_t)getpid()), 0);
    assert_int_equal(waits, 1);
    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        assert_int_equal(events_of(perf, i, own_tid()), perf->rings[i] != NULL);
        assert_int_equal(events_of(perf, i, atomic_load(&other.tid)),
                         perf->rings[i] != NULL);
    }
    /* Nothing is left to begin. */
    assert_int_equal(perf_begin(perf, time, (uint32_t)getpid()), 0);
    assert_int_equal(waits, 1);
    end(perf);
}

/* As ke does when a start fails on a later processor. */
static void
start__stopped_before_it_began__nothing_opened(void **state)
{
    struct perf_source *time;
    struct perf *const perf = start_everywhere(&time);
    const size_t before = perf->events.count;

    (void)state;
    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        perf_stop(perf, time, i, (uint32_t)getpid());
    }
    assert_null(perf->targets);
    assert_int_equal(perf_begin(perf, time, (uint32_t)getpid()), 0);
    assert_int_equal(waits, 0);
    assert_null(perf->targets);
    assert_int_equal(perf->events.count, before);
    end(perf);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settle__a_thread_that_runs__waits_until_it_has_run),
        cmocka_unit_test(settle__a_thread_that_never_runs__given_up_when_patience_is),
        cmocka_unit_test(settle__a_thread_that_sleeps__not_waited_for),
        cmocka_unit_test(settle__own_thread_and_one_that_is_gone__not_waited_for),
        cmocka_unit_test(start__thread_that_runs__waited_for_once_for_all_processors),
        cmocka_unit_test(start__stopped_before_it_began__nothing_opened),
    };

    perf_features_probe(&features, false);
    return cmocka_run_group_tests_name("settle", tests, NULL, NULL);
}
