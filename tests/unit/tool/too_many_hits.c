/* SPDX-License-Identifier: MIT */
/*
 * too_many_hits.c - more hits than processor time are reported where that time is
 * known, or at least bounded; processes are followed by forged records.
 */
#include "record/collect/collectorp.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t interval_ns = 1000000;

/* preloaded.c allows that much for a look: its look_slack_ns. */
enum { SLACK_INTERVALS = 100 };

struct fixture {
    struct preload_memory memory;
    struct collector *collector;
};

static int
setup(void **state)
{
    static struct fixture fixture;
    const struct collector_options options = {.preloaded = &fixture.memory,
                                              .source_count = 1,
                                              .bucket_bytes = 1,
                                              .user = true};

    *state = &fixture;
    assert_int_equal(preload_memory_open(&fixture.memory, interval_ns, 0), 0);
    fixture.collector = collector_new(&options);
    return fixture.collector == NULL;
}

static int
teardown(void **state)
{
    struct fixture *const fixture = *state;

    collector_delete(fixture->collector);
    preload_memory_close(&fixture->memory);
    return 0;
}

/* Start a process that waits for ever, and record it as the next one. */
static pid_t
start_process(struct fixture *fixture)
{
    struct preload_shared *const shared = fixture->memory.shared;
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    shared->process_count++;
    shared->processes[shared->process_count] =
        (struct preload_process){.ready = 1,
                                 .pid = (uint32_t)child,
                                 .outer_pid = (uint32_t)child,
                                 .kind = PRELOAD_EXECED,
                                 .program = "work",
                                 .threads = 1};
    return child;
}

static void
kill_process(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Add hits in code of process 1 that no segment has. */
static void
add_hits(struct fixture *fixture, uint32_t hits)
{
    struct preload_slot *const slot = &fixture->memory.shared->slots[0];

    slot->key = PRELOAD_KEY_PLAIN | UINT64_C(1) << PRELOAD_KEY_NUMBER_BIT | 0x1000;
    slot->hits += hits;
}

static bool
reports_too_many(struct fixture *fixture)
{
    struct collector_gaps gaps = {0};

    assert_true(collector_read(fixture->collector));
    preloaded_describe(fixture->collector->preloaded, &gaps);
    return gaps.too_many_hits;
}

static void
too_many_hits__processes_killed_between_looks__may_have_had_all_processors(void **state)
{
    enum { PROCESSES = 20 };
    struct fixture *const fixture = *state;
    const long processors = sysconf(_SC_NPROCESSORS_CONF);

    for (int i = 0; i < PROCESSES; i++) {
        const pid_t child = start_process(fixture);

        assert_false(reports_too_many(fixture));
        kill_process(child);
        add_hits(fixture, (uint32_t)(SLACK_INTERVALS * (processors + 1)));
        assert_false(reports_too_many(fixture));
    }
    add_hits(fixture, UINT32_MAX / 2);
    assert_true(reports_too_many(fixture));
}

static void
too_many_hits__a_process_exited_in_order__not_more_than_it_reported(void **state)
{
    struct fixture *const fixture = *state;
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    const pid_t child = start_process(fixture);

    assert_false(reports_too_many(fixture));
    fixture->memory.shared->processes[1].end_ns = 1;
    kill_process(child);
    add_hits(fixture, (uint32_t)(SLACK_INTERVALS * (processors + 1)));
    assert_false(reports_too_many(fixture));
    add_hits(fixture, (uint32_t)(SLACK_INTERVALS * (processors + 1)));
    assert_true(reports_too_many(fixture));
}

static void
too_many_hits__processes_without_a_place__may_have_used_the_whole_machine(void **state)
{
    struct fixture *const fixture = *state;
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    struct timespec wait = {.tv_nsec = 300000000};

    while (nanosleep(&wait, &wait) < 0) {
    }
    /* Its writer was killed before the record was ready: it has not run either. */
    fixture->memory.shared->process_count = 1;
    add_hits(fixture, (uint32_t)(processors * 250));
    assert_true(reports_too_many(fixture));
    fixture->memory.shared->process_count = PRELOAD_PROCESSES - 1;
    assert_true(reports_too_many(fixture));
    fixture->memory.shared->process_count = PRELOAD_PROCESSES;
    assert_false(reports_too_many(fixture));
    add_hits(fixture, UINT32_MAX / 2);
    assert_true(reports_too_many(fixture));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(
            too_many_hits__processes_killed_between_looks__may_have_had_all_processors),
        TEST(too_many_hits__a_process_exited_in_order__not_more_than_it_reported),
        TEST(too_many_hits__processes_without_a_place__may_have_used_the_whole_machine),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
