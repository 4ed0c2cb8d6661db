/* SPDX-License-Identifier: MIT */
/*
 * waits.c - stops, and the end of a process, wait for hits that are being counted.
 *
 * Two threads are processors that do nothing but take hits. A signal stalls each of
 * them wherever it is, mostly within the counting routine; only the HAL's Synchronize,
 * or the end of a round, lets it go on. So what does not wait returns while a hit that
 * began before it is still there: that is found in the round in which it happens, and
 * no luck with the scheduler is needed. Run it under the sanitizers, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"
#include "ps/ps.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

enum { PROCESSORS = 2, ROUNDS = 40, COUNTERS = 64, SPAN = COUNTERS * 16 };
enum { STALL = SIGUSR2 };

struct processor {
    pthread_t thread;
    ULONG number;
    ULONG hits;   /* even between hits, odd within one; atomic */
    ULONG before; /* hits when it was stalled last */
    uint64_t random;
};

static struct {
    struct machine machine;
    HAL_TABLE hal_table;   /* the machine's, but for Synchronize */
    HOST_TABLE host_table; /* the host's, but for Free of objects */
    struct processor processors[PROCESSORS];
    int stalled;           /* processors in the signal handler; atomic */
    int released;          /* atomic */
    int quit;              /* atomic */
    bool stall_after_wait; /* the next Synchronize stalls the processors again */
    const void *watched;   /* within memory that is to be freed; NULL: none */
    bool freed;
    int overtaken; /* hits that were there when they must not be */
    int found;     /* hits that were stalled */
} test;

/* ---- Processors ---- */

static void
stall_here(int number)
{
    const int error = errno;

    (void)number;
    __atomic_add_fetch(&test.stalled, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&test.released, __ATOMIC_ACQUIRE) == 0) {
        sched_yield();
    }
    __atomic_sub_fetch(&test.stalled, 1, __ATOMIC_ACQ_REL);
    errno = error;
}

static void
wait_for_stalled(int count)
{
    while (__atomic_load_n(&test.stalled, __ATOMIC_ACQUIRE) != count) {
        sched_yield();
    }
}

static void
release_processors(void)
{
    __atomic_store_n(&test.released, 1, __ATOMIC_RELEASE);
    wait_for_stalled(0);
}

static void
stall_processors(void)
{
    __atomic_store_n(&test.released, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < PROCESSORS; i++) {
        pthread_kill(test.processors[i].thread, STALL);
    }
    wait_for_stalled(PROCESSORS);
    for (int i = 0; i < PROCESSORS; i++) {
        struct processor *const processor = &test.processors[i];

        processor->before = __atomic_load_n(&processor->hits, __ATOMIC_ACQUIRE);
        test.found += (int)(processor->before % 2);
    }
}

/* How many of the hits that were stalled last have not returned yet. */
static int
count_overtaken(void)
{
    int count = 0;

    for (int i = 0; i < PROCESSORS; i++) {
        const struct processor *const processor = &test.processors[i];
        const ULONG now = __atomic_load_n(&processor->hits, __ATOMIC_ACQUIRE);

        count += now % 2 == 1 && now == processor->before;
    }
    return count;
}

static void *
take_hits(void *context)
{
    struct processor *const processor = context;

    while (__atomic_load_n(&test.quit, __ATOMIC_RELAXED) == 0) {
        KE_HIT hit = {.Source = ProfileTime,
                      .Processor = processor->number,
                      .Scope = KE_SCOPE_BOTH};

        processor->random = processor->random * 6364136223846793005u + 1;
        hit.Address = MACHINE_CODE + (processor->random >> 33) % SPAN;
        hit.ProcessId = processor->random >> 63 != 0 ? MACHINE_PID : MACHINE_OTHER_PID;
        __atomic_add_fetch(&processor->hits, 1, __ATOMIC_ACQ_REL);
        KeProfileInterruptWithSource(&test.machine.system.Ke, &hit);
        __atomic_add_fetch(&processor->hits, 1, __ATOMIC_ACQ_REL);
    }
    return NULL;
}

/* ---- HAL and host ---- */

static void
synchronize(void *context)
{
    (void)context;
    release_processors();
    for (int i = 0; i < PROCESSORS; i++) {
        const ULONG *const hits = &test.processors[i].hits;
        const ULONG now = __atomic_load_n(hits, __ATOMIC_ACQUIRE);

        while (now % 2 == 1 && __atomic_load_n(hits, __ATOMIC_ACQUIRE) == now) {
            sched_yield();
        }
    }
    if (test.stall_after_wait) {
        test.stall_after_wait = false;
        stall_processors();
    }
}

/* What a hit may still see must not be freed. */
static void
free_memory(void *context, void *memory, SIZE_T bytes)
{
    const HOST host = host_sim_host(test.machine.host);
    const uintptr_t at = (uintptr_t)test.watched - (uintptr_t)memory;

    if (test.watched != NULL && memory != NULL && at < bytes) {
        test.watched = NULL;
        test.freed = true;
        test.overtaken += count_overtaken();
    }
    host.Table->Free(context, memory, bytes);
}

/* ---- Rounds ---- */

static EX_CREATE_PROFILE
request_at(HANDLE process, size_t slot)
{
    EX_CREATE_PROFILE request = machine_request();

    request.Process = process;
    request.ProfileSize = SPAN;
    request.BucketSize = 4;
    request.Buffer = MACHINE_BUFFER + slot * COUNTERS * sizeof(ULONG);
    request.BufferSize = COUNTERS * sizeof(ULONG);
    return request;
}

static HANDLE
create_at(HANDLE process, size_t slot)
{
    const EX_CREATE_PROFILE request = request_at(process, slot);

    return machine_create(&test.machine, &request);
}

static uint64_t
sum_at(size_t slot)
{
    const ULONG *const counters =
        host_sim_at(test.machine.host, MACHINE_BUFFER + slot * COUNTERS * sizeof(ULONG),
                    COUNTERS * sizeof(ULONG));
    uint64_t sum = 0;

    for (int i = 0; i < COUNTERS; i++) {
        sum += __atomic_load_n(&counters[i], __ATOMIC_RELAXED);
    }
    return sum;
}

static int
setup(void **state)
{
    struct sigaction action = {.sa_handler = stall_here, .sa_flags = SA_RESTART};
    KSYSTEM *const system = &test.machine.system;

    (void)state;
    memset(&test, 0, sizeof(test));
    machine_open(&test.machine, NULL);
    test.hal_table = *system->Hal.Table;
    test.hal_table.Synchronize = synchronize;
    system->Hal.Table = system->Ke.Hal.Table = &test.hal_table;
    test.host_table = *system->Ob.Host.Table;
    test.host_table.Free = free_memory;
    system->Ob.Host.Table = &test.host_table;
    sigaction(STALL, &action, NULL);
    return 0;
}

static void
run_processors(void)
{
    for (int i = 0; i < PROCESSORS; i++) {
        struct processor *const processor = &test.processors[i];

        processor->number = (ULONG)i;
        processor->random = (uint64_t)i + 1;
        assert_int_equal(pthread_create(&processor->thread, NULL, take_hits, processor),
                         0);
    }
}

static void
end_processors(void)
{
    release_processors();
    __atomic_store_n(&test.quit, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < PROCESSORS; i++) {
        pthread_join(test.processors[i].thread, NULL);
    }
}

static int
teardown(void **state)
{
    (void)state;
    machine_close(&test.machine);
    return 0;
}

/* Another profile of the process stays started, so that the process does as well. */
static void
stop__hits_being_counted__returns_after_them(void **state)
{
    const HANDLE always = create_at(NULL, 0);
    const HANDLE beside = create_at(NtCurrentProcess(), 1);
    const HANDLE stopped = create_at(NtCurrentProcess(), 2);
    uint64_t hits = 0;
    int changed = 0; /* counters after the stop */

    (void)state;
    assert_int_equal(ExStartProfile(&test.machine.system, UserMode, always),
                     STATUS_SUCCESS);
    assert_int_equal(ExStartProfile(&test.machine.system, UserMode, beside),
                     STATUS_SUCCESS);
    run_processors();
    for (int i = 0; i < ROUNDS && test.overtaken == 0; i++) {
        uint64_t sum;

        assert_int_equal(ExStartProfile(&test.machine.system, UserMode, stopped),
                         STATUS_SUCCESS);
        stall_processors();
        assert_int_equal(ExStopProfile(&test.machine.system, UserMode, stopped),
                         STATUS_SUCCESS);
        sum = sum_at(2);
        test.overtaken += count_overtaken();
        release_processors();
        sched_yield();
        changed += sum_at(2) != sum;
    }
    end_processors();
    assert_int_equal(test.overtaken, 0);
    assert_int_equal(changed, 0);
    assert_true(test.found > 0);
    for (int i = 0; i < PROCESSORS; i++) {
        hits += test.processors[i].hits / 2;
    }
    assert_int_equal(sum_at(0), hits);
}

/* The last profile of a process is stopped, which waits; hits that begin then find the
 * process once more. They are waited for before its memory is freed. */
static void
process_deleted__hits_that_found_it__freed_after_them(void **state)
{
    const HANDLE always = create_at(NULL, 0);

    (void)state;
    assert_int_equal(ExStartProfile(&test.machine.system, UserMode, always),
                     STATUS_SUCCESS);
    run_processors();
    for (int i = 0; i < ROUNDS && test.overtaken == 0; i++) {
        HANDLE process;
        HANDLE profile;

        process = machine_open_process(&test.machine, MACHINE_OTHER_PID);
        profile = create_at(process, 2);
        assert_int_equal(ExClose(&test.machine.system, process), STATUS_SUCCESS);
        assert_int_equal(ExStartProfile(&test.machine.system, UserMode, profile),
                         STATUS_SUCCESS);
        test.watched = PsFindProcess(&test.machine.system.Ps, MACHINE_OTHER_PID);
        assert_non_null(test.watched);
        test.freed = false;
        test.stall_after_wait = true;
        assert_int_equal(ExStopProfile(&test.machine.system, UserMode, profile),
                         STATUS_SUCCESS);
        assert_false(test.stall_after_wait);
        assert_int_equal(ExClose(&test.machine.system, profile), STATUS_SUCCESS);
        assert_true(test.freed);
        release_processors();
    }
    end_processors();
    assert_int_equal(test.overtaken, 0);
    assert_true(test.found > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stop__hits_being_counted__returns_after_them,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            process_deleted__hits_that_found_it__freed_after_them, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
