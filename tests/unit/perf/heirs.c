/* SPDX-License-Identifier: MIT */
/* heirs.c - what marks tell of threads that were made before them, after them and between. */
#include "cmocka_all.h"
#include "fake_ke.h"

#include "hal/perf/heirs.h"
#include "hal/perf/target.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A thread that makes another one, which rests, each time that it is told to. */
enum { HEIRS_MAX = 3 };

static struct maker {
    pthread_t thread;
    _Atomic uint32_t tid;
    int orders[2];
    int over[2];
    pthread_t made[HEIRS_MAX];
    _Atomic uint32_t tids[HEIRS_MAX];
    size_t count;
} maker;

static struct _KE_SYSTEM ke;
static struct perf *perf;
static struct perf_target *target;
static struct perf_heirs heirs;

static uint32_t
own_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static void *
rest(void *argument)
{
    _Atomic uint32_t *const tid = argument;
    char byte;

    atomic_store(tid, own_tid());
    assert_int_equal(read(maker.over[0], &byte, 1), 0);
    return NULL;
}

static void *
make(void *argument)
{
    char byte;

    atomic_store(&maker.tid, own_tid());
    for (size_t i = 0; read(maker.orders[0], &byte, 1) == 1; i++) {
        assert_int_equal(pthread_create(&maker.made[i], NULL, rest, &maker.tids[i]), 0);
    }
    return argument;
}

static uint32_t
await(_Atomic uint32_t *tid)
{
    while (atomic_load(tid) == 0) {
        usleep(1000);
    }
    return atomic_load(tid);
}

/* Have a thread made. Returns its number when it has run. */
static uint32_t
order(void)
{
    assert_int_equal(write(maker.orders[1], "", 1), 1);
    return await(&maker.tids[maker.count++]);
}

static void
end_all(void)
{
    close(maker.orders[1]);
    pthread_join(maker.thread, NULL);
    close(maker.over[1]);
    for (size_t i = 0; i < maker.count; i++) {
        pthread_join(maker.made[i], NULL);
    }
    maker.count = 0;
}

static int
begin(void **state)
{
    (void)state;
    memset(&maker, 0, sizeof(maker));
    assert_int_equal(pipe(maker.orders), 0);
    assert_int_equal(pipe(maker.over), 0);
    assert_int_equal(pthread_create(&maker.thread, NULL, make, NULL), 0);
    await(&maker.tid);
    assert_int_equal(perf_create(&ke, fake_notify, &ke, true, false, &perf), 0);
    assert_int_equal(perf_make_rings(perf), 0);
    target = perf_target_create((uint32_t)getpid());
    assert_non_null(target);
    target->watcher.descendants = true;
    return 0;
}

static int
end(void **state)
{
    (void)state;
    if (maker.count > 0) {
        end_all();
    }
    close(maker.orders[0]);
    close(maker.over[0]);
    perf_heirs_finish(perf, &heirs);
    perf_target_delete(perf, target);
    perf_delete(perf);
    fake_clear(&ke);
    return 0;
}

static void
mark(bool behind)
{
    perf_heirs_mark(perf, &heirs, target, atomic_load(&maker.tid), behind);
    assert_false(heirs.given_up);
}

static void
heirs__made_before_between_and_behind__none_some_and_all(void **state)
{
    uint32_t before;
    uint32_t between;
    uint32_t behind;

    (void)state;
    before = order();
    mark(false);
    between = order();
    mark(true);
    behind = order();
    perf_heirs_read(perf, &heirs);

    assert_false(perf_heirs_know(&heirs, before));
    assert_true(perf_heirs_know_some(&heirs, between));
    assert_false(perf_heirs_held(&heirs, between));
    assert_true(perf_heirs_hold(&heirs, behind));
    assert_true(perf_heirs_held(&heirs, behind));
    /* Its own marks say nothing of who has them. */
    assert_false(perf_heirs_know(&heirs, atomic_load(&maker.tid)));
}

static void
heirs__ended__were_heirs_but_their_numbers_are_not(void **state)
{
    uint32_t heir;

    (void)state;
    mark(false);
    mark(true);
    heir = order();
    perf_heirs_read(perf, &heirs);
    assert_true(perf_heirs_hold(&heirs, heir));
    end_all();
    /* Threads are joined a moment before they tell of their ends. */
    while (perf_heirs_hold(&heirs, heir) ||
           !perf_heirs_know(&heirs, atomic_load(&maker.tid))) {
        usleep(1000);
        perf_heirs_read(perf, &heirs);
    }
    assert_true(perf_heirs_held(&heirs, heir));
    assert_false(perf_heirs_held(&heirs, atomic_load(&maker.tid)));
}

static void
heirs__child_processes__inherit_if_descendants_are_followed(void **state)
{
    pid_t child;

    (void)state;
    perf_heirs_mark(perf, &heirs, target, own_tid(), true);
    child = fork();
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    perf_heirs_read(perf, &heirs);
    assert_true(perf_heirs_held(&heirs, (uint32_t)child));
}

static void
heirs__given_up__nobody_is_known_to_be_one(void **state)
{
    uint32_t heir;

    (void)state;
    mark(true);
    heir = order();
    perf_heirs_read(perf, &heirs);
    assert_true(perf_heirs_hold(&heirs, heir));
    assert_true(perf_heirs_give_up(perf, &heirs));
    assert_false(perf_heirs_hold(&heirs, heir));
    assert_false(perf_heirs_give_up(perf, &heirs));
    /* And no mark is made any more. */
    perf_heirs_mark(perf, &heirs, target, atomic_load(&maker.tid), true);
    assert_true(heirs.given_up);
    assert_int_equal(heirs.marks.count, 0);
}

/* More switches than a ring holds: some are lost, and with them perhaps an end. */
static void
heirs__more_told_than_a_ring_holds__given_up(void **state)
{
    (void)state;
    for (int i = 0; i < 16; i++) {
        perf_heirs_mark(perf, &heirs, target, own_tid(), true);
    }
    for (int i = 0; i < 5000; i++) {
        usleep(1);
    }
    assert_false(heirs.given_up);
    perf_heirs_read(perf, &heirs);
    assert_true(heirs.given_up);
}

/* Not everybody may raise the limit again: so this is the last test. */
static void
heirs__descriptors_run_out__given_up_and_some_are_free(void **state)
{
    struct rlimit limit;
    const int lowest = dup(maker.orders[0]);

    (void)state;
    close(lowest);
    limit.rlim_cur = limit.rlim_max = (rlim_t)lowest + 4;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < 8 && !heirs.given_up; i++) {
        perf_heirs_mark(perf, &heirs, target, atomic_load(&maker.tid), true);
    }
    assert_true(heirs.given_up);
    assert_int_equal(heirs.marks.count, 0);
    assert_int_equal(dup(maker.orders[0]), lowest);
    close(lowest);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            heirs__made_before_between_and_behind__none_some_and_all, begin, end),
        cmocka_unit_test_setup_teardown(
            heirs__ended__were_heirs_but_their_numbers_are_not, begin, end),
        cmocka_unit_test_setup_teardown(
            heirs__child_processes__inherit_if_descendants_are_followed, begin, end),
        cmocka_unit_test_setup_teardown(heirs__given_up__nobody_is_known_to_be_one,
                                        begin, end),
        cmocka_unit_test_setup_teardown(heirs__more_told_than_a_ring_holds__given_up,
                                        begin, end),
        cmocka_unit_test_setup_teardown(
            heirs__descriptors_run_out__given_up_and_some_are_free, begin, end),
    };

    return cmocka_run_group_tests_name("heirs", tests, NULL, NULL);
}
