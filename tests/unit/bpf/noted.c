/* SPDX-License-Identifier: MIT */
/*
 * noted.c - which hits the program counts at once and which it notes for their turn, told one by one to the
 * program itself, with the session's side of the maps written by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hal/bpf/index.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PID = 4000, SLOT = 3, SOURCE = 7, USER_SELECTOR = 0x33, LDT_SELECTOR = 0x0f };
static const uint64_t address = 0x401000;

struct fixture {
    struct bpf_kernel kernel;
    struct bpf_index index;
    struct bpf_control *control;
    void *rings;
    struct bpf_ring *ring; /* of the processor that the test runs on */
    uint32_t processor;
};

static struct fixture fixture;

static int
setup(void **state)
{
    const uint32_t processors = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
    struct bpf_refusal refusal;
    cpu_set_t set;
    int result;

    (void)state;
    fixture = (struct fixture){.processor = (uint32_t)sched_getcpu()};
    CPU_ZERO(&set);
    CPU_SET(fixture.processor, &set);
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
    result = bpf_kernel_make(&fixture.kernel, bpf_call_kernel, processors,
                             BPF_FOR_REPLAY, &refusal);
    if (result == -EPERM || result == -ENOSYS) {
        print_message("no BPF programs here: %s\n", refusal.reason);
        return 0;
    }
    assert_int_equal(result, 0);
    assert_int_equal(bpf_index_init(&fixture.index, &fixture.kernel), 0);
    fixture.control = bpf_control_of(&fixture.kernel);
    result = bpf_kernel_add_map(&fixture.kernel, BPF_MAP_RINGS, 0, processors,
                                &fixture.rings);
    assert_true(result >= 0);
    close(result);
    fixture.ring = (struct bpf_ring *)fixture.rings + fixture.processor;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    if (fixture.control != NULL) {
        munmap(fixture.rings, fixture.kernel.processors * sizeof(struct bpf_ring));
        bpf_index_finish(&fixture.index);
        bpf_kernel_finish(&fixture.kernel);
    }
    return 0;
}

#define noted_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void
watch(ULONG flags, uint64_t told_ns)
{
    if (fixture.control == NULL) {
        skip();
    }
    fixture.control->watch = flags;
    fixture.control->told_ns = told_ns;
}

static void
hit(uint32_t pid, uint32_t selector, uint64_t at, uint64_t offset)
{
    const uint64_t arguments[BPF_REPLAY_ARGUMENTS] = {
        [BPF_REPLAY_COOKIE] = bpf_cookie(SOURCE, SLOT),
        [BPF_REPLAY_PROCESSOR] = fixture.processor,
        [BPF_REPLAY_PROCESS] = pid,
        [BPF_REPLAY_ADDRESS] = at,
        [BPF_REPLAY_SELECTOR] = selector,
        [BPF_REPLAY_OFFSET] = offset,
    };

    assert_int_equal(bpf_kernel_replay(&fixture.kernel, arguments), 0);
}

static void
hit_process(uint32_t pid)
{
    hit(pid, USER_SELECTOR, address, address);
}

/* What became of all hits so far. */
static void
assert_became(uint64_t noted, uint64_t outside, uint64_t elsewhere, uint64_t lost)
{
    struct bpf_books books;

    bpf_index_query(&fixture.index, SLOT, &books);
    assert_int_equal(fixture.ring->head / BPF_NOTED_BYTES, noted);
    assert_int_equal(books.outside, outside);
    assert_int_equal(books.elsewhere, elsewhere);
    assert_int_equal(books.lost, lost);
    assert_int_equal(books.counted, 0);
}

static void
hit__nobody_watched__outside_at_once(void **state)
{
    (void)state;
    watch(0, 0);
    hit_process(PID);
    hit_process(0);
    assert_became(0, 2, 0, 0);
}

static void
hit__of_an_unknown_process__noted_whole(void **state)
{
    const struct bpf_noted *noted;

    (void)state;
    watch(BPF_WATCH_ON, 0);
    noted = &fixture.ring->noted[0];
    hit(PID, USER_SELECTOR, address, address + 5);
    assert_became(1, 0, 0, 0);
    assert_int_equal(noted->type, PERF_RECORD_SAMPLE);
    assert_int_equal(noted->misc, PERF_RECORD_MISC_USER);
    assert_int_equal(noted->bytes, BPF_NOTED_BYTES);
    assert_true(noted->id == bpf_noted_id(bpf_cookie(SOURCE, SLOT)));
    assert_true(noted->address == address);
    assert_int_equal(noted->pid, PID);
    assert_int_equal(noted->tid, 0);
    assert_true(noted->time_ns > 0);
    assert_int_equal(noted->registers, PERF_SAMPLE_REGS_ABI_64);
    assert_true(noted->offset == address + 5);
    assert_int_equal(noted->selector, USER_SELECTOR);
    hit_process(PID);
    assert_became(2, 0, 0, 0);
    assert_true(fixture.ring->noted[1].time_ns >= noted->time_ns);
}

static void
hit__in_a_segment_of_its_own__noted_without_an_address(void **state)
{
    (void)state;
    watch(BPF_WATCH_ON, 0);
    hit(PID, LDT_SELECTOR, 0x106, 0x106);
    assert_became(1, 0, 0, 0);
    assert_true(fixture.ring->noted[0].address == BPF_NOWHERE);
    assert_int_equal(fixture.ring->noted[0].offset, 0x106);
    assert_int_equal(fixture.ring->noted[0].selector, LDT_SELECTOR);
}

static void
hit__of_what_is_idle__noted_only_while_somebody_is_told_of(void **state)
{
    (void)state;
    watch(BPF_WATCH_ON, 0);
    hit_process(0);
    assert_became(0, 0, 1, 0);
    watch(BPF_WATCH_ON | BPF_WATCH_EVERYBODY, 0);
    hit_process(0);
    assert_became(0, 1, 1, 0);
    watch(BPF_WATCH_ON | BPF_WATCH_ALL_HITS, 0);
    hit_process(0);
    assert_became(1, 1, 1, 0);
}

static void
hit__of_who_is_known_and_not_watched__elsewhere_in_step_else_noted(void **state)
{
    (void)state;
    watch(BPF_WATCH_ON, 999);
    assert_true(bpf_table_know(&fixture.index.table, PID, false, 1000));
    hit_process(PID);
    assert_became(1, 0, 0, 0);
    watch(BPF_WATCH_ON, 1000);
    hit_process(PID);
    assert_became(1, 0, 1, 0);
    watch(BPF_WATCH_ON | BPF_WATCH_EVERYBODY, 1000);
    hit_process(PID);
    assert_became(1, 1, 1, 0);
    bpf_table_find(&fixture.index.table, PID)->changed_ns = 1001;
    hit_process(PID);
    assert_became(2, 1, 1, 0);
    assert_true(bpf_table_forget(&fixture.index.table, PID));
    watch(BPF_WATCH_ON, 5000);
    hit_process(PID);
    assert_became(3, 1, 1, 0);
}

/* It may be in code that was made just now. */
static void
hit__of_who_is_watched_in_no_profile__noted(void **state)
{
    (void)state;
    watch(BPF_WATCH_ON, 1000);
    assert_true(bpf_table_know(&fixture.index.table, PID, true, 1000));
    hit_process(PID);
    assert_became(1, 0, 0, 0);
}

static void
hit__ring_full__lost_until_there_is_room(void **state)
{
    (void)state;
    watch(BPF_WATCH_ON, 0);
    for (uint32_t i = 0; i < BPF_RING_HITS; i++) {
        hit_process(PID);
    }
    assert_became(BPF_RING_HITS, 0, 0, 0);
    hit(PID, USER_SELECTOR, 0x1, 0x1);
    hit(PID, USER_SELECTOR, 0x2, 0x2);
    assert_became(BPF_RING_HITS, 0, 0, 2);
    assert_true(fixture.ring->noted[0].address == address); /* not written over */

    fixture.ring->tail = BPF_NOTED_BYTES;
    hit(PID, USER_SELECTOR, 0x3, 0x3);
    assert_became(BPF_RING_HITS + 1, 0, 0, 2);
    assert_int_equal(fixture.ring->noted[0].address, 0x3);
    assert_true(fixture.ring->noted[1].address == address);
}

static void
hit__halted__outside_without_a_note(void **state)
{
    (void)state;
    watch(BPF_WATCH_ON | BPF_WATCH_ALL_HITS, 0);
    fixture.control->halted = 1;
    hit_process(PID);
    assert_became(0, 1, 0, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        noted_test(hit__nobody_watched__outside_at_once),
        noted_test(hit__of_an_unknown_process__noted_whole),
        noted_test(hit__in_a_segment_of_its_own__noted_without_an_address),
        noted_test(hit__of_what_is_idle__noted_only_while_somebody_is_told_of),
        noted_test(hit__of_who_is_known_and_not_watched__elsewhere_in_step_else_noted),
        noted_test(hit__of_who_is_watched_in_no_profile__noted),
        noted_test(hit__ring_full__lost_until_there_is_room),
        noted_test(hit__halted__outside_without_a_note),
    };

    return cmocka_run_group_tests_name("bpf noted", tests, NULL, NULL);
}
