/* SPDX-License-Identifier: MIT */
/*
 * ring_reader.c - rings of hits with stacks: each hit is read once, a full ring
 * refuses, a writer that is gone leaves no slot taken, and nothing is believed.
 */
#include "record/collect/ring_reader.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SLOTS = 64, BYTES = 512 };

static struct stack_ring *ring; /* as the writer has it */
static struct ring_reader *reader;
static _Alignas(8) uint8_t hit_bytes[sizeof(struct stack_ring_slot) + BYTES];
static struct stack_ring_slot *const hit = (struct stack_ring_slot *)hit_bytes;

static int
make_file(size_t bytes, int seals)
{
    const int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static struct stack_ring *
map(int fd)
{
    struct stack_ring *const mapped = mmap(NULL, stack_ring_bytes(SLOTS, BYTES),
                                           PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    assert_true(mapped != MAP_FAILED);
    return mapped;
}

static int
begin(void **state)
{
    const int fd = make_file(stack_ring_bytes(SLOTS, BYTES), F_SEAL_SHRINK);

    (void)state;
    ring = map(fd);
    ring->magic = STACK_RING_MAGIC;
    ring->process = 3;
    reader = ring_reader_new(fd, SLOTS, BYTES);
    return reader == NULL;
}

static int
end(void **state)
{
    (void)state;
    ring_reader_delete(reader);
    return munmap(ring, stack_ring_bytes(SLOTS, BYTES));
}

/* Write a hit as thread tid. Returns false if the ring is full. */
static bool
put(uint32_t tid, uint64_t key)
{
    const uint32_t at = stack_ring_take(ring, SLOTS, tid);
    struct stack_ring_slot *slot;

    if (at == SLOTS) {
        return false;
    }
    slot = stack_ring_slot(ring, SLOTS, BYTES, at);
    slot->key = key;
    slot->stack_bytes = BYTES;
    memset(slot->stack, (int)(key & 255), BYTES);
    stack_ring_publish(ring, at, tid);
    return true;
}

/* Read all hits. Returns the sum of their keys. */
static uint64_t
take_all(unsigned *count)
{
    uint64_t sum = 0;

    *count = 0;
    for (uint32_t at = 0; ring_reader_next(reader, &at, hit); at++) {
        assert_int_equal(hit->stack_bytes, BYTES);
        assert_int_equal(hit->stack[0], hit->key & 255);
        assert_int_equal(hit->stack[BYTES - 1], hit->key & 255);
        ring_reader_free(reader, at);
        sum += hit->key;
        ++*count;
    }
    return sum;
}

static void
ring__hits__each_is_read_once(void **state)
{
    unsigned count;

    (void)state;
    assert_int_equal(ring_reader_process(reader), 3);
    assert_false(ring_reader_has_hits(reader));
    assert_true(put(7, 100));
    assert_true(put(8, 11));
    assert_true(ring_reader_has_hits(reader));
    assert_int_equal(take_all(&count), 111);
    assert_int_equal(count, 2);
    assert_int_equal(take_all(&count), 0);
    assert_false(ring_reader_has_hits(reader));
}

static void
ring__not_taken__stays(void **state)
{
    uint32_t at = 0;
    unsigned count;

    (void)state;
    assert_true(put(7, 1));
    assert_true(ring_reader_next(reader, &at, hit));
    assert_int_equal(take_all(&count), 1);
}

static void
ring__full__refuses_until_one_is_taken(void **state)
{
    unsigned count;

    (void)state;
    for (uint64_t i = 0; i < SLOTS; i++) {
        assert_true(put(7, i));
    }
    assert_false(put(7, 1));
    ring_reader_free(reader, 9);
    assert_true(put(7, 1));
    assert_false(put(7, 1));
    (void)take_all(&count);
    assert_int_equal(count, SLOTS);
    /* The first is taken first: pages are touched as they are needed. */
    assert_int_equal(stack_ring_take(ring, SLOTS, 7), 0);
}

static void
ring__slot_being_written__is_not_read(void **state)
{
    (void)state;
    assert_int_equal(stack_ring_take(ring, SLOTS, 7), 0);
    assert_false(ring_reader_has_hits(reader));
    stack_ring_publish(ring, 0, 7);
    assert_true(ring_reader_has_hits(reader));
}

/* ---- writers that are gone ---- */

static void *
take_and_end(void *argument)
{
    uint32_t *const tid = argument;

    *tid = (uint32_t)gettid();
    assert_int_equal(stack_ring_take(ring, SLOTS, *tid), 0);
    return NULL;
}

static void
free_dead__thread_that_ended_while_it_wrote__slot_is_free(void **state)
{
    pthread_t thread;
    uint32_t tid;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, take_and_end, &tid), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    while (tgkill(getpid(), (pid_t)tid, 0) == 0) {
        usleep(1000); /* the kernel has it a moment longer */
    }
    ring_reader_free_dead(reader, (uint32_t)getpid());
    assert_int_equal(ring->words[0], tid << 2 | STACK_RING_WRITING);
    ring_reader_free_dead(reader, (uint32_t)getpid()); /* nothing has changed since */
    assert_int_equal(ring->words[0], STACK_RING_FREE);
    assert_false(ring_reader_has_hits(reader));
}

static void
free_dead__process_killed_while_it_wrote__slot_is_free(void **state)
{
    const pid_t child = fork();
    int status;

    (void)state;
    if (child == 0) {
        (void)stack_ring_take(ring, SLOTS, (uint32_t)gettid());
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(stack_ring_state(ring->words[0]), STACK_RING_WRITING);
    assert_true(put(7, 5)); /* others go on meanwhile */
    ring_reader_free_dead(reader, (uint32_t)child);
    ring_reader_free_dead(reader, (uint32_t)child);
    assert_int_equal(ring->words[0], STACK_RING_FREE);
    assert_int_equal(ring->words[1], 7 << 2 | STACK_RING_READY);
}

static void
free_dead__thread_that_lives__keeps_its_slot(void **state)
{
    const uint32_t tid = (uint32_t)gettid();

    (void)state;
    assert_int_equal(stack_ring_take(ring, SLOTS, tid), 0);
    for (int i = 0; i < 3; i++) {
        ring_reader_free_dead(reader, (uint32_t)getpid());
    }
    assert_int_equal(ring->words[0], tid << 2 | STACK_RING_WRITING);
}

static void
free_dead__written_anew_since__keeps_its_slot(void **state)
{
    (void)state;
    assert_int_equal(stack_ring_take(ring, SLOTS, INT32_MAX >> 2), 0);
    ring_reader_free_dead(reader, (uint32_t)getpid());
    ring->words[0] = ((INT32_MAX >> 2) - 1) << 2 | STACK_RING_WRITING;
    ring_reader_free_dead(reader, (uint32_t)getpid());
    assert_int_equal(stack_ring_state(ring->words[0]), STACK_RING_WRITING);
}

/* ---- many at once ---- */

enum { WRITERS = 4, HITS = 20000 };

static uint64_t refused[WRITERS];

static void *
write_many(void *argument)
{
    const uint32_t number = (uint32_t)(uintptr_t)argument;

    for (uint64_t i = 1; i <= HITS; i++) {
        if (!put(number + 1, i)) {
            refused[number] += i;
        }
    }
    return NULL;
}

static void
ring__many_writers_and_a_reader__sum_of_read_and_refused(void **state)
{
    pthread_t threads[WRITERS];
    uint64_t sum = 0;
    unsigned count;

    (void)state;
    for (uintptr_t i = 0; i < WRITERS; i++) {
        refused[i] = 0;
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, (void *)i), 0);
    }
    for (int i = 0; i < 1000; i++) {
        sum += take_all(&count);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        sum += refused[i];
    }
    sum += take_all(&count);
    assert_int_equal(sum, WRITERS * ((uint64_t)HITS * (HITS + 1) / 2));
}

/* ---- what is not believed ---- */

static void
ring__of_another_size_or_not_sealed__refused(void **state)
{
    static const struct {
        size_t more;
        int seals;
        uint64_t magic;
    } rows[] = {
        {8, F_SEAL_SHRINK, STACK_RING_MAGIC}, /* too large */
        {0, F_SEAL_GROW, STACK_RING_MAGIC},   /* it could be shortened */
        {0, F_SEAL_SHRINK, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int fd =
            make_file(stack_ring_bytes(SLOTS, BYTES) + rows[i].more, rows[i].seals);
        struct stack_ring *const other = map(fd);

        other->magic = rows[i].magic;
        assert_null(ring_reader_new(fd, SLOTS, BYTES));
        assert_int_equal(fcntl(fd, F_GETFD), -1); /* closed */
        munmap(other, stack_ring_bytes(SLOTS, BYTES));
    }
    assert_null(ring_reader_new(open("/dev/null", O_RDWR | O_CLOEXEC), SLOTS, BYTES));
}

static void
hit__with_more_bytes_than_asked__has_none(void **state)
{
    uint32_t at = 0;

    (void)state;
    assert_true(put(7, 1));
    stack_ring_slot(ring, SLOTS, BYTES, 0)->stack_bytes = BYTES + 1;
    assert_true(ring_reader_next(reader, &at, hit));
    assert_int_equal(hit->stack_bytes, 0);
}

static void
words__of_no_state__are_left_alone(void **state)
{
    (void)state;
    memset(ring->words, 0xff, sizeof(ring->words[0]) * SLOTS);
    assert_false(ring_reader_has_hits(reader));
    ring_reader_free_dead(reader, (uint32_t)getpid());
    ring_reader_free_dead(reader, (uint32_t)getpid());
    assert_int_equal(ring->words[0], UINT32_MAX);
    assert_false(put(7, 1));
}

static void
events__that_make_no_sense__refused(void **state)
{
    struct stack_ring_event event;

    (void)state;
    ring->event_count = UINT32_MAX;
    assert_int_equal(ring_reader_event_count(reader), STACK_RING_EVENTS);
    ring->events[0] = (struct stack_ring_event){.base = 0x1000, .length = 0x1000};
    assert_true(ring_reader_event(reader, 0, &event));
    assert_int_equal(event.base, 0x1000);
    ring->events[0].length = 0;
    assert_false(ring_reader_event(reader, 0, &event));
    ring->events[0].length = UINT64_MAX;
    assert_false(ring_reader_event(reader, 0, &event));
    ring->events[0] = (struct stack_ring_event){.base = UINT64_MAX, .length = 1};
    assert_false(ring_reader_event(reader, 0, &event));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ring__hits__each_is_read_once),
        TEST(ring__not_taken__stays),
        TEST(ring__full__refuses_until_one_is_taken),
        TEST(ring__slot_being_written__is_not_read),
        TEST(free_dead__thread_that_ended_while_it_wrote__slot_is_free),
        TEST(free_dead__process_killed_while_it_wrote__slot_is_free),
        TEST(free_dead__thread_that_lives__keeps_its_slot),
        TEST(free_dead__written_anew_since__keeps_its_slot),
        TEST(ring__many_writers_and_a_reader__sum_of_read_and_refused),
        TEST(ring__of_another_size_or_not_sealed__refused),
        TEST(hit__with_more_bytes_than_asked__has_none),
        TEST(words__of_no_state__are_left_alone),
        TEST(events__that_make_no_sense__refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
