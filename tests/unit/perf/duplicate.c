/* SPDX-License-Identifier: MIT */
/* duplicate.c - threads whose hits come by two events or more: records in rings, as the
 * kernel would write them. */
#include "cmocka_all.h"
#include "crafted.h"
#include "fake_ke.h"

#include "hal/linux/descriptor.h"
#include "hal/perf/deliver.h"
#include "hal/perf/target.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

enum { PID = 10, RING_BYTES = 8192, SOURCE = 0x2000 };

static struct world {
    struct _KE_SYSTEM ke;
    struct perf perf;
    struct perf_target target;
    struct perf_source source;
    struct perf_source *sources[1];
    struct perf_ring ring;
    struct perf_ring *rings[1];
    struct perf_stream_head heads[1];
    _Alignas(8) uint8_t bytes[RING_BYTES];
    _Alignas(8) uint8_t scratch[65536];
    uint64_t now_ns;
} world;

static int
setup(void **state)
{
    (void)state;
    world = (struct world){.now_ns = 1000};
    world.ring = (struct perf_ring){.data = world.bytes,
                                    .size_bytes = RING_BYTES,
                                    .owner_fd = -1,
                                    .scratch = world.scratch};
    world.rings[0] = &world.ring;
    world.source.number = SOURCE;
    world.target.pid = PID;
    world.perf = (struct perf){.ke = &world.ke,
                               .rings = world.rings,
                               .processor_limit = 1,
                               .ring_bytes = RING_BYTES,
                               .targets = &world.target,
                               .frozen_ns = UINT64_MAX};
    world.sources[0] = &world.source;
    world.perf.context.sources =
        (struct perf_sources){.items = world.sources, .count = 1};
    world.perf.stream.heads = world.heads;
    world.perf.stream.calls = &perf_deliver_calls;
    world.perf.stream.context = &world.perf;
    process_table_init(&world.perf.stream.processes, NULL, NULL);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    while (world.target.events.count > 0) {
        perf_event_close(&world.perf,
                         world.target.events.items[--world.target.events.count], 0,
                         PERF_COUNTS_ADDED);
    }
    perf_reap_closed(&world.perf, UINT64_MAX);
    assert_int_equal(world.perf.counted_by.count, 0);
    perf_events_finish(&world.target.events);
    perf_idmap_finish(&world.perf.events);
    perf_idmap_finish(&world.perf.counted_by);
    process_table_finish(&world.perf.stream.processes);
    fake_clear(&world.ke);
    return 0;
}

/* An event of the target with this number. */
static struct perf_event *
open_event(uint64_t id)
{
    struct perf_event *const event = calloc(1, sizeof(*event));

    assert_non_null(event);
    event->id = id;
    event->fd = perf_descriptor_own(open("/dev/null", O_RDONLY | O_CLOEXEC));
    event->tid = (uint32_t)id;
    event->may_duplicate = true;
    event->source = &world.source;
    event->target = &world.target;
    event->from_ns = 500;
    event->until_ns = UINT64_MAX;
    assert_int_equal(perf_events_add(&world.target.events, event), 0);
    assert_int_equal(perf_idmap_put(&world.perf.events, id, event), 0);
    world.source.tally.instances++;
    return event;
}

static void
write_record(const struct crafted *record)
{
    assert_true(world.ring.head + record->size <= RING_BYTES);
    memcpy(world.bytes + world.ring.head, record->bytes, record->size);
    world.ring.head += record->size;
}

static void
sample_at(uint32_t tid, uint64_t id, uint64_t time_ns)
{
    struct crafted record;
    struct perf_sample sample;

    craft_sample(&record, id, 0x1000, time_ns);
    memcpy(&sample, record.bytes, sizeof(sample));
    sample.tid = tid;
    memcpy(record.bytes, &sample, sizeof(sample));
    write_record(&record);
}

static void
sample(uint32_t tid, uint64_t id)
{
    sample_at(tid, id, ++world.now_ns);
}

/* Hits delivered since the last call. */
static size_t
deliver(void)
{
    size_t hits;

    perf_flush(&world.perf);
    hits = fake_hits(&world.ke, SOURCE, 0);
    fake_clear(&world.ke);
    return hits;
}

/* With a field that the event has not, or without one that it has. */
static void
hits__malformed__counted_as_lost(void **state)
{
    struct perf_event *const event = open_event(1);
    struct crafted record;

    (void)state;
    craft_sample(&record, 1, 0x1000, ++world.now_ns);
    craft_u64(&record, 0);
    craft_size(&record, record.size);
    sample(21, 1);
    write_record(&record);
    sample(21, 1);
    assert_int_equal(deliver(), 2);
    assert_int_equal(world.source.tally.lost, 1);
    event->layout.chain = true;
    sample(21, 1);
    write_record(&record);
    assert_int_equal(deliver(), 1);
    assert_int_equal(world.source.tally.lost, 2);
}

static bool
is_open(uint64_t id)
{
    const struct perf_event *const event = perf_idmap_find(&world.perf.events, id);

    return event != NULL && event->fd >= 0;
}

static void
hits__one_event_a_thread__all_are_counted(void **state)
{
    (void)state;
    open_event(1);
    open_event(2);
    for (int i = 0; i < 3; i++) {
        sample(21, 1);
        sample(22, 2);
        sample(23, 1);
    }
    assert_int_equal(deliver(), 9);
    assert_true(is_open(1) && is_open(2));
}

/* Thread 2 inherited event 1 and has event 2; a child of it makes the first hit. */
static void
hits__child_of_a_thread_opened_and_inheriting__counted_once(void **state)
{
    (void)state;
    open_event(1);
    open_event(2);
    for (int i = 0; i < 3; i++) {
        sample(33, 1);
        sample(33, 2);
    }
    /* Others with the same two, and one with the older alone. */
    sample(34, 1);
    sample(34, 2);
    sample(2, 2);
    sample(2, 1);
    sample(35, 1);
    assert_int_equal(deliver(), 6);
    assert_true(is_open(1));
    assert_false(is_open(2));
    assert_int_equal(world.target.events.count, 1);
}

static void
hits__younger_event_first__older_stays_and_none_is_lost(void **state)
{
    (void)state;
    open_event(2);
    open_event(1);
    for (int i = 0; i < 3; i++) {
        sample(33, 2);
        sample(33, 1);
    }
    assert_int_equal(deliver(), 3);
    assert_true(is_open(1));
    assert_false(is_open(2));
}

/* A line of threads each of which was opened: the last has the events of all. */
static void
hits__four_events_in_each_order__counted_once(void **state)
{
    static const size_t orders[][4] = {
        {0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};
    uint64_t ids[4] = {1};

    (void)state;
    open_event(1);
    for (size_t order = 0; order < 4; order++) {
        for (size_t i = 1; i < 4; i++) {
            ids[i] = 4 * order + i + 1; /* the kernel gives no number again */
            open_event(ids[i]);
        }
        for (int hit = 0; hit < 5; hit++) {
            for (size_t i = 0; i < 4; i++) {
                sample(33, ids[orders[order][i]]);
            }
        }
        assert_int_equal(deliver(), 5);
        assert_true(is_open(1));
        assert_int_equal(world.target.events.count, 1);
    }
}

/* 4's number is taken by a thread that has only the other event. */
static void
hits__number_of_an_exited_thread__no_duplicate(void **state)
{
    static const uint32_t types[] = {PERF_RECORD_EXIT, PERF_RECORD_FORK};

    (void)state;
    open_event(1);
    open_event(2);
    for (size_t i = 0; i < 2; i++) {
        struct crafted record;

        sample(33, 1);
        craft_task(&record, types[i], PID, PID, 33, ++world.now_ns);
        write_record(&record);
        sample(33, 2);
        craft_task(&record, types[i], PID, PID, 33, ++world.now_ns);
        write_record(&record);
    }
    assert_int_equal(deliver(), 4);
    assert_true(is_open(1) && is_open(2));
}

/* An event that was closed at a change of interval, and the one opened instead. */
static void
hits__event_and_its_successor__both_are_counted(void **state)
{
    struct perf_event *const before = open_event(1);
    struct perf_event *const after = open_event(2);

    (void)state;
    world.target.events.items[0] = after;
    world.target.events.count = 1;
    perf_event_close(&world.perf, before, 1500, PERF_COUNTS_ADDED);
    before->accounted = (struct perf_counts){.events = 2, .running_ns = 30};
    after->from_ns = 1501;
    before->period = 10;
    after->period = 1000;
    sample_at(33, 1, 1400);
    sample_at(33, 2, 1400);
    sample_at(33, 1, 1600);
    sample_at(33, 2, 1600);
    assert_int_equal(deliver(), 2);
    assert_true(is_open(2));
    assert_int_equal(world.source.tally.discarded, 2);
    assert_int_equal(world.source.tally.discarded_events, 1010);
}

/* Stopped before the hits were delivered: what the younger has counted leaves the
 * statistics. */
static void
statistics__closed_before_delivery__duplicate_counts_are_taken_out(void **state)
{
    struct perf_event *const older = open_event(1);
    struct perf_event *const younger = open_event(2);

    (void)state;
    sample(33, 1);
    sample(33, 2);
    sample(33, 1);
    sample(33, 2);
    world.target.events.count = 0;
    perf_event_close(&world.perf, older, 5000, PERF_COUNTS_ADDED);
    perf_event_close(&world.perf, younger, 5000, PERF_COUNTS_ADDED);
    world.source.tally.events = 4;
    world.source.tally.running_ns = 60;
    younger->accounted = (struct perf_counts){.events = 2, .running_ns = 30};
    assert_int_equal(deliver(), 2);
    assert_int_equal(world.source.tally.events, 2);
    assert_int_equal(world.source.tally.running_ns, 30);
}

/* Hits before the common beginning were taken out of what is expected: with their event
 * they come back. */
static void
statistics__discarded_hits_of_a_duplicate_event__leave_with_it(void **state)
{
    (void)state;
    open_event(1)->period = 10;
    open_event(2)->period = 1000;
    sample_at(33, 1, 400);
    sample_at(33, 2, 401);
    assert_int_equal(deliver(), 0);
    assert_int_equal(world.source.tally.discarded, 2);
    sample(33, 1);
    sample(33, 2);
    assert_int_equal(deliver(), 1);
    assert_int_equal(world.source.tally.discarded, 1);
    assert_int_equal(world.source.tally.discarded_events, 10);
}

/* ---- Many threads and processors ---- */

enum { MANY = 60000, ROUNDS = 80, TIME_MAX_MS = 1000 };

/* Processor time of this program. */
static long
clock_ms(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return (long)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

static void
exits__many_events__time_is_not_theirs(void **state)
{
    struct perf_event *const events = calloc(MANY, sizeof(*events));
    long begin_ms;
    long passed_ms;

    (void)state;
    assert_non_null(events);
    open_event(1);
    for (size_t i = 0; i < MANY; i++) {
        events[i] = (struct perf_event){
            .fd = -1, .source = &world.source, .may_duplicate = true};
        assert_int_equal(perf_events_add(&world.target.events, &events[i]), 0);
    }
    sample(MANY, 1); /* a thread with a key, which does not exit */
    assert_int_equal(deliver(), 1);
    begin_ms = clock_ms();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        world.ring.head = world.ring.tail = 0;
        for (uint32_t i = 0; i < 100; i++) {
            struct crafted record;

            craft_task(&record, PERF_RECORD_EXIT, PID, PID, i, ++world.now_ns);
            write_record(&record);
        }
        assert_int_equal(deliver(), 0);
    }
    passed_ms = clock_ms() - begin_ms;
    world.target.events.count = 1;
    free(events);
    assert_in_range(passed_ms, 0, TIME_MAX_MS);
    assert_int_equal(world.perf.counted_by.count, 1);
}

/* The first half was closed later, and stays. */
static void
reap__many_events_with_threads__one_pass(void **state)
{
    long begin_ms;

    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        struct perf_event *const event = calloc(1, sizeof(*event));

        assert_non_null(event);
        *event = (struct perf_event){.fd = -1,
                                     .id = i,
                                     .source = &world.source,
                                     .closed_ns = i < MANY / 2 ? 2000 : 1000,
                                     .next_closed = world.perf.closed};
        world.perf.closed = event;
        assert_int_equal(perf_idmap_put(&world.perf.events, i, event), 0);
        assert_int_equal(perf_idmap_put(&world.perf.counted_by, i, event), 0);
    }
    begin_ms = clock_ms();
    perf_reap_closed(&world.perf, 1500);
    assert_in_range(clock_ms() - begin_ms, 0, TIME_MAX_MS);
    assert_int_equal(world.perf.counted_by.count, MANY / 2);
    assert_non_null(perf_idmap_find(&world.perf.counted_by, 0));
    assert_null(perf_idmap_find(&world.perf.counted_by, MANY - 1));
}

/* Closing each of thousands of profiles asks for a flush. */
static void
flush__after_a_freeze__delivers_once(void **state)
{
    (void)state;
    open_event(1);
    sample(33, 1);
    perf_freeze(&world.perf);
    assert_int_equal(deliver(), 1);
    sample(33, 1);
    assert_int_equal(deliver(), 0);
    assert_int_not_equal(world.ring.tail, world.ring.head);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hits__malformed__counted_as_lost, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(hits__one_event_a_thread__all_are_counted,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            hits__child_of_a_thread_opened_and_inheriting__counted_once, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            hits__younger_event_first__older_stays_and_none_is_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(hits__four_events_in_each_order__counted_once,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(hits__number_of_an_exited_thread__no_duplicate,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(hits__event_and_its_successor__both_are_counted,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            statistics__closed_before_delivery__duplicate_counts_are_taken_out, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            statistics__discarded_hits_of_a_duplicate_event__leave_with_it, setup,
            teardown),
        cmocka_unit_test_setup_teardown(exits__many_events__time_is_not_theirs, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(reap__many_events_with_threads__one_pass, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(flush__after_a_freeze__delivers_once, setup,
                                        teardown),
    };

    return cmocka_run_group_tests_name("perf_duplicate", tests, NULL, NULL);
}
