/* SPDX-License-Identifier: MIT */
/*
 * Interrupts on several processors at once while profiles start and stop: no hit is
 * lost or counted twice, no counter changes after its stop, and the statistics are
 * exact. Run it under TSan, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 3, HITS = 20000, CHURNED = 60, COUNTERS = 64, LEAST_ROUNDS = 200 };
enum { DIRECT_HITS = 300000, REPEATS = 3 };

/* In the table of processes it stands before the caller's: hits pass it on their way.
 */
enum { PASSING_PID = MACHINE_PID + KE_PROCESS_BUCKETS };

/* The base profile spans [MACHINE_CODE, + 0x1000); hits fall there and as much behind
 * it. */
enum { SPAN = 0x1000 };

struct worker {
    pthread_t thread;
    struct machine *machine;
    pthread_barrier_t *barrier; /* hit_beyond's */
    ULONG processor;
    uint64_t random;
    uint64_t in_base;  /* hits within the base profile, by what was drawn */
    uint64_t matched;  /* hits that counted anywhere */
    uint64_t counters; /* increments that the calls told of */
    uint64_t other;    /* increments by the source that comes and goes */
};

static int running; /* workers */

static uint64_t
draw(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

static void *
work(void *context)
{
    struct worker *const worker = context;
    struct sim *const sim = worker->machine->sim;

    for (int i = 0; i < HITS; i++) {
        const uint64_t offset = draw(&worker->random) % (2 * SPAN);
        const uint64_t address = MACHINE_CODE + offset;
        const ULONG counted =
            sim_hit(sim, ProfileTime, worker->processor, MACHINE_PID, address);

        worker->in_base += offset < SPAN;
        worker->matched += counted != 0;
        worker->counters += counted;
        worker->other += sim_hit(sim, ProfileTotalCycles, worker->processor,
                                 i % 2 == 0 ? MACHINE_PID : MACHINE_OTHER_PID, address);
    }
    __atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Slot 0 is the base profile's buffer; the others come behind it. */
static ULONG
slot_counter(struct machine *machine, size_t slot, size_t index)
{
    return machine_counter(machine, slot * COUNTERS + index);
}

static uint64_t
slot_sum(struct machine *machine, size_t slot)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < COUNTERS; i++) {
        sum += slot_counter(machine, slot, i);
    }
    return sum;
}

static EX_CREATE_PROFILE
slot_request(size_t slot)
{
    EX_CREATE_PROFILE request = machine_request();

    request.ProfileSize = SPAN;
    request.BucketSize = 6;
    request.BufferSize = COUNTERS * sizeof(ULONG);
    request.Buffer =
        MACHINE_BUFFER + MACHINE_BUFFER_BYTES - (slot + 1) * COUNTERS * sizeof(ULONG);
    return request;
}

/* Profiles of all kinds: of the process, of all, of another source, of another process.
 */
static HANDLE
create_churned(struct machine *machine, size_t slot, HANDLE other_process)
{
    EX_CREATE_PROFILE request = slot_request(slot);

    request.ProfileBase += slot * 0x60;
    switch (slot % 4) {
    case 1:
        request.Process = NULL;
        break;
    case 2:
        request.ProfileSource = ProfileTotalCycles;
        break;
    case 3:
        request.Process = other_process;
        request.ProfileSource = ProfileTotalCycles;
        break;
    default:
        break;
    }
    return machine_create(machine, &request);
}

struct churn {
    struct machine *machine;
    HANDLE profiles[CHURNED + 1];
    bool started[CHURNED + 1];
    uint64_t sums[CHURNED + 1]; /* when it was stopped */
    uint64_t random;
    int rounds;
};

static void
check_quiet(const struct churn *churn)
{
    for (size_t slot = 1; slot <= CHURNED; slot++) {
        if (!churn->started[slot]) {
            assert_int_equal(slot_sum(churn->machine, slot), churn->sums[slot]);
        }
    }
}

/* A process that comes and goes with a profile that never counts. */
static void
pass_by(struct machine *machine)
{
    EX_CREATE_PROFILE request = slot_request(CHURNED + 1);
    HANDLE profile;

    request.Process = machine_open_process(machine, PASSING_PID);
    request.ProfileSize = 0;
    profile = machine_create_started(machine, &request);
    assert_int_equal(ExClose(&machine->system, request.Process), STATUS_SUCCESS);
    assert_int_equal(ExClose(&machine->system, profile), STATUS_SUCCESS);
}

static void
churn_once(struct churn *churn)
{
    const size_t slot = 1 + draw(&churn->random) % CHURNED;
    KSYSTEM *const system = &churn->machine->system;

    if (churn->started[slot]) {
        assert_int_equal(ExStopProfile(system, UserMode, churn->profiles[slot]),
                         STATUS_SUCCESS);
        churn->sums[slot] = slot_sum(churn->machine, slot);
    } else {
        assert_int_equal(ExStartProfile(system, UserMode, churn->profiles[slot]),
                         STATUS_SUCCESS);
    }
    churn->started[slot] = !churn->started[slot];
    churn->rounds++;
    pass_by(churn->machine);
    if (churn->rounds % 8 == 0) {
        check_quiet(churn);
    }
}

static void
run_workers(struct machine *machine, struct worker *workers, struct churn *churn)
{
    __atomic_store_n(&running, WORKERS, __ATOMIC_RELEASE);
    for (ULONG i = 0; i < WORKERS; i++) {
        workers[i] =
            (struct worker){.machine = machine, .processor = i, .random = i + 1};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]),
                         0);
    }
    while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) > 0 ||
           churn->rounds < LEAST_ROUNDS) {
        churn_once(churn);
    }
    for (ULONG i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
}

static void
check_statistics(struct machine *machine, const struct worker *sum)
{
    KE_STATISTICS statistics;
    HAL_SOURCE_STATISTICS hal_source_statistics;

    KeQueryStatistics(&machine->system.Ke, ProfileTime, &statistics);
    assert_int_equal(statistics.Taken, WORKERS * HITS);
    assert_int_equal(statistics.Counted, sum->matched);
    assert_int_equal(statistics.Outside, WORKERS * HITS - sum->matched);
    assert_int_equal(HalSimBackend.QuerySourceStatistics(machine->sim, ProfileTime,
                                                         statistics.Taken,
                                                         &hal_source_statistics),
                     STATUS_SUCCESS);
    assert_int_equal(hal_source_statistics.Expected, statistics.Taken);
    KeQueryStatistics(&machine->system.Ke, ProfileTotalCycles, &statistics);
    assert_int_equal(statistics.Taken, statistics.Counted + statistics.Outside);
    assert_int_equal(HalSimBackend.QuerySourceStatistics(
                         machine->sim, ProfileTotalCycles, 0, &hal_source_statistics),
                     STATUS_SUCCESS);
    assert_int_equal(hal_source_statistics.Expected, statistics.Taken);
}

static void
run_once(uint64_t seed)
{
    static struct worker workers[WORKERS];
    const EX_CREATE_PROFILE base = slot_request(0);
    struct machine machine;
    struct churn churn = {.machine = &machine, .random = seed};
    struct worker sum = {0};
    uint64_t time_counters = 0;
    uint64_t cycle_counters = 0;
    HANDLE other;

    machine_open(&machine, NULL);
    host_sim_add_process(machine.host, PASSING_PID);
    other = machine_open_process(&machine, MACHINE_OTHER_PID);
    churn.profiles[0] = machine_create_started(&machine, &base);
    for (size_t slot = 1; slot <= CHURNED; slot++) {
        churn.profiles[slot] = create_churned(&machine, slot, other);
    }
    run_workers(&machine, workers, &churn);
    for (size_t i = 0; i < WORKERS; i++) {
        sum.in_base += workers[i].in_base;
        sum.matched += workers[i].matched;
        sum.counters += workers[i].counters;
        sum.other += workers[i].other;
    }
    for (size_t slot = 0; slot <= CHURNED; slot++) {
        if (slot % 4 < 2) {
            time_counters += slot_sum(&machine, slot);
        } else {
            cycle_counters += slot_sum(&machine, slot);
        }
    }
    assert_int_equal(slot_sum(&machine, 0), sum.in_base);
    assert_int_equal(time_counters, sum.counters);
    assert_int_equal(cycle_counters, sum.other);
    check_statistics(&machine, &sum);
    machine_close(&machine);
}

/* rules: hit-atomic, stop-final, hit-statistics */
static void
interrupts__while_profiles_start_and_stop__every_count_exact(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= REPEATS; seed++) {
        run_once(seed);
    }
}

/* ---- Processors that came after the system was made share one place in the statistics
 * ---- */
/* rule: hit-statistics-processors */

static void *
hit_beyond(void *context)
{
    const struct worker *const worker = context;
    const KE_HIT hit = {ProfileTime, worker->processor, 1, 0x1000, 0, KE_SCOPE_BOTH, 0};

    pthread_barrier_wait(worker->barrier);
    for (int i = 0; i < DIRECT_HITS; i++) {
        (void)KeProfileInterruptWithSource(&worker->machine->system.Ke, &hit);
    }
    return NULL;
}

static void
statistics__processors_above_the_range_at_once__none_lost(void **state)
{
    struct machine machine;
    struct worker workers[WORKERS];
    pthread_barrier_t barrier;
    KE_STATISTICS statistics;

    (void)state;
    machine_open(&machine, NULL);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, WORKERS), 0);
    assert_int_equal(KeRegisterSource(&machine.system.Ke, ProfileTime), STATUS_SUCCESS);
    for (ULONG i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){
            .machine = &machine, .barrier = &barrier, .processor = 64 + i};
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, hit_beyond, &workers[i]), 0);
    }
    for (ULONG i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    KeQueryStatistics(&machine.system.Ke, ProfileTime, &statistics);
    assert_int_equal(statistics.Taken, WORKERS * DIRECT_HITS);
    assert_int_equal(statistics.Outside, WORKERS * DIRECT_HITS);
    pthread_barrier_destroy(&barrier);
    machine_close(&machine);
}

/* ---- Sources become known while interrupts of them are made ---- */

static void
sources__registered_while_hit__statistics_count_from_then_on(void **state)
{
    struct machine machine;
    struct worker worker;
    pthread_barrier_t barrier;
    KE_STATISTICS statistics;

    (void)state;
    machine_open(&machine, NULL);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    worker = (struct worker){.machine = &machine, .barrier = &barrier};
    assert_int_equal(pthread_create(&worker.thread, NULL, hit_beyond, &worker), 0);
    pthread_barrier_wait(&barrier);
    for (ULONG source = 1; source < 100; source++) {
        assert_int_equal(KeRegisterSource(&machine.system.Ke, source), STATUS_SUCCESS);
    }
    assert_int_equal(KeRegisterSource(&machine.system.Ke, ProfileTime), STATUS_SUCCESS);
    pthread_join(worker.thread, NULL);
    KeQueryStatistics(&machine.system.Ke, ProfileTime, &statistics);
    assert_in_range(statistics.Taken, 0, DIRECT_HITS);
    assert_int_equal(statistics.Taken, statistics.Outside);
    pthread_barrier_destroy(&barrier);
    machine_close(&machine);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupts__while_profiles_start_and_stop__every_count_exact),
        cmocka_unit_test(statistics__processors_above_the_range_at_once__none_lost),
        cmocka_unit_test(sources__registered_while_hit__statistics_count_from_then_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
