/* SPDX-License-Identifier: MIT */
/*
 * preload_memory.c - memory that preload objects count into: what they write is found,
 * and what they cannot have written is refused.
 */
#include "record/collect/preload_memory.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t interval_ns = 4000000;

/* Hits that were taken, of one slot. */
struct taken {
    bool refuse; /* memory has run out */
    unsigned calls;
    uint64_t key;
    uint64_t hits;
};

static bool
take(void *context, uint64_t key, uint32_t hits)
{
    struct taken *const taken = context;

    taken->calls++;
    if (taken->refuse) {
        return false;
    }
    taken->key = key;
    taken->hits += hits;
    return true;
}

static int
open_memory(void **state)
{
    static struct preload_memory memory;

    *state = &memory;
    return preload_memory_open(&memory, interval_ns, 2);
}

static int
close_memory(void **state)
{
    preload_memory_close(*state);
    return 0;
}

static void
put_segment(struct preload_shared *shared, uint32_t number, uint64_t offset,
            uint64_t length, const char *path)
{
    struct preload_segment *const segment = &shared->segments[number];

    segment->offset = offset;
    segment->length = length;
    segment->inode = 7;
    memcpy(segment->program, "sh", 3);
    segment->path = number * 100;
    strcpy(&shared->paths[segment->path], path);
    segment->ready = 1;
}

static void
memory__shortened_by_a_program__refused(void **state)
{
    const struct preload_memory *const memory = *state;

    assert_int_equal(ftruncate(memory->fd, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(memory->fd, 1 << 30), -1);
}

static void
segment__as_a_preload_object_writes_it__copied(void **state)
{
    struct preload_memory *const memory = *state;
    struct preload_code code;

    assert_false(preload_memory_is_ready(memory, 1));
    put_segment(memory->shared, 1, 0x1000, 0x2000, "/bin/sh");
    assert_true(preload_memory_is_ready(memory, 1));
    assert_true(preload_memory_segment(memory, 1, &code));
    assert_string_equal(code.path, "/bin/sh");
    assert_string_equal(code.program, "sh");
    assert_int_equal(code.offset, 0x1000);
    assert_int_equal(code.length, 0x2000);
    assert_int_equal(memory->refused, 0);
}

static void
segment__that_makes_no_sense__refused_and_counted(void **state)
{
    static const struct {
        uint64_t offset;
        uint64_t length;
        const char *path;
    } rows[] = {
        {0, 0, "/bin/sh"},                   /* empty */
        {2, 0x1000, "/bin/sh"},              /* between two buckets */
        {UINT64_MAX - 3, 0x1000, "/bin/sh"}, /* wraps */
        {0, UINT64_C(1) << 60, "/bin/sh"},   /* longer than user space */
        {0, 0x1000, "bin/sh"},               /* no absolute path */
        {0, 0x1000, ""},
    };
    struct preload_memory *const memory = *state;
    struct preload_code code;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put_segment(memory->shared, 1, rows[i].offset, rows[i].length, rows[i].path);
        assert_false(preload_memory_segment(memory, 1, &code));
        assert_int_equal(memory->refused, i + 1);
    }
    put_segment(memory->shared, 1, 0, 0x1000, "/bin/sh");
    memory->shared->segments[1].path = UINT32_MAX;
    assert_false(preload_memory_segment(memory, 1, &code));
    memory->shared->segments[1].path = PRELOAD_PATHS_BYTES - PRELOAD_PATH_MAX;
    memset(memory->shared->paths, '/', sizeof(memory->shared->paths)); /* no end */
    assert_false(preload_memory_segment(memory, 1, &code));
}

static void
counts__more_than_there_are_places__are_those_that_fit(void **state)
{
    const struct preload_memory *const memory = *state;

    memory->shared->process_count = PRELOAD_PROCESSES + 4;
    memory->shared->segment_count = 9;
    assert_int_equal(preload_memory_processes(memory), PRELOAD_PROCESSES - 1);
    assert_int_equal(preload_memory_segments(memory), 9);
    assert_int_equal(preload_memory_refusals(memory), 5);
    memory->shared->process_count = UINT32_MAX;
    memory->shared->segment_count = UINT32_MAX;
    assert_int_equal(preload_memory_processes(memory), PRELOAD_PROCESSES - 1);
    assert_int_equal(preload_memory_segments(memory), PRELOAD_SEGMENTS - 1);
}

static void
process__with_an_impossible_pid_or_kind__refused(void **state)
{
    const struct preload_memory *const memory = *state;
    struct preload_process *const written = &memory->shared->processes[1];
    struct preload_process process;

    *written = (struct preload_process){.pid = 1, .kind = PRELOAD_EXECED};
    assert_false(preload_memory_process(memory, 1, &process)); /* not ready */
    written->ready = 1;
    assert_true(preload_memory_process(memory, 1, &process));
    memset(written->program, 'x', sizeof(written->program));
    assert_true(preload_memory_process(memory, 1, &process));
    assert_int_equal(strlen(process.program), PRELOAD_NAME_BYTES - 1);
    written->kind = 9;
    assert_false(preload_memory_process(memory, 1, &process));
    written->kind = PRELOAD_FORKED;
    written->pid = UINT32_MAX;
    assert_false(preload_memory_process(memory, 1, &process));
    written->pid = 1;
    written->outer_pid = UINT32_MAX;
    assert_false(preload_memory_process(memory, 1, &process));
    written->outer_pid = 1;
    assert_true(preload_memory_process(memory, 1, &process));
}

static void
hits__of_first_and_last_slot__taken_once(void **state)
{
    struct preload_memory *const memory = *state;
    static const uint32_t places[] = {0, PRELOAD_SLOTS / 2, PRELOAD_SLOTS - 1};

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct preload_slot *const slot = &memory->shared->slots[places[i]];
        struct taken taken = {.hits = 0};

        slot->key = PRELOAD_KEY_PLAIN | UINT64_C(5) << PRELOAD_KEY_NUMBER_BIT | 0x1234;
        slot->hits = 3;
        assert_true(preload_memory_take(memory, take, &taken));
        assert_int_equal(taken.calls, 1);
        assert_int_equal(taken.key, slot->key);
        assert_int_equal(taken.hits, 3);
        assert_true(preload_memory_take(memory, take, &taken));
        assert_int_equal(taken.calls, 1);
    }
    assert_int_equal(memory->refused, 0);
}

static void
hits__that_are_not_taken__stay(void **state)
{
    struct preload_memory *const memory = *state;
    struct taken taken = {.refuse = true};

    memory->shared->slots[7] =
        (struct preload_slot){UINT64_C(1) << PRELOAD_KEY_NUMBER_BIT, 3, 0};
    assert_false(preload_memory_take(memory, take, &taken));
    assert_int_equal(memory->shared->slots[7].hits, 3);
    taken.refuse = false;
    assert_true(preload_memory_take(memory, take, &taken));
    assert_int_equal(taken.hits, 3);
    assert_int_equal(taken.key, UINT64_C(1) << PRELOAD_KEY_NUMBER_BIT);
}

static void
hits__without_a_key__refused(void **state)
{
    struct preload_memory *const memory = *state;
    struct taken taken = {.hits = 0};

    memory->shared->slots[7].hits = 3;
    assert_true(preload_memory_take(memory, take, &taken));
    assert_int_equal(taken.calls, 0);
    assert_int_equal(memory->refused, 1);
    assert_int_equal(memory->shared->slots[7].hits, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_memory, close_memory)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(memory__shortened_by_a_program__refused),
        TEST(segment__as_a_preload_object_writes_it__copied),
        TEST(segment__that_makes_no_sense__refused_and_counted),
        TEST(counts__more_than_there_are_places__are_those_that_fit),
        TEST(process__with_an_impossible_pid_or_kind__refused),
        TEST(hits__of_first_and_last_slot__taken_once),
        TEST(hits__that_are_not_taken__stay),
        TEST(hits__without_a_key__refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
