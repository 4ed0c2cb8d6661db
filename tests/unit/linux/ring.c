/* SPDX-License-Identifier: MIT */
/* ring.c - taking records out of a ring, and out of several in order of time. */
#include "crafted.h"

#include "cmocka_all.h"

#include "hal/linux/stream.h"

enum { RING_BYTES = 256 };

struct plain_ring {
    _Alignas(8) uint8_t data[RING_BYTES];
    _Alignas(8) uint8_t scratch[65536];
    struct perf_ring ring;
};

static void
plain_init(struct plain_ring *plain, uint64_t position)
{
    memset(plain->data, 0xEE, sizeof(plain->data));
    plain->ring = (struct perf_ring){.data = plain->data,
                                     .size_bytes = RING_BYTES,
                                     .owner_fd = -1,
                                     .scratch = plain->scratch};
    plain->ring.head = plain->ring.tail = position;
}

/* Write as the kernel does. */
static void
plain_write(struct plain_ring *plain, const struct crafted *crafted)
{
    for (size_t i = 0; i < crafted->size; i++) {
        plain->data[(plain->ring.head + i) % RING_BYTES] = crafted->bytes[i];
    }
    plain->ring.head += crafted->size;
}

static void
plain_write_sample(struct plain_ring *plain, uint64_t ip, uint64_t time_ns)
{
    struct crafted crafted;

    craft_sample(&crafted, 1, ip, time_ns);
    plain_write(plain, &crafted);
}

static void
peek__every_position__same_record(void **state)
{
    struct plain_ring plain;

    (void)state;
    for (uint64_t position = 0; position <= 2 * RING_BYTES; position += 8) {
        const struct perf_sample *sample;
        const struct perf_event_header *header;

        plain_init(&plain, position);
        plain_write_sample(&plain, 0x1234, 5);
        plain_write_sample(&plain, 0x5678, 6);
        header = perf_ring_peek(&plain.ring);
        sample = (const void *)header;
        assert_non_null(header);
        assert_int_equal(sample->ip, 0x1234);
        assert_int_equal(sample->time_ns, 5);
        perf_ring_skip(&plain.ring, header);
        header = perf_ring_peek(&plain.ring);
        sample = (const void *)header;
        assert_int_equal(sample->ip, 0x5678);
        perf_ring_skip(&plain.ring, header);
        assert_null(perf_ring_peek(&plain.ring));
        assert_int_equal(plain.ring.tail, position + 2 * sizeof(*sample));
        assert_int_equal(plain.ring.lost_records, 0);
    }
}

static void
peek__impossible_size__rest_given_up_and_counted(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 88, 89, 256, 264, 65528, 65535};
    struct plain_ring plain;

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct crafted crafted;

        for (uint64_t position = 0; position < RING_BYTES; position += 8) {
            plain_init(&plain, position);
            craft_sample(&crafted, 1, 2, 3);
            craft_size(&crafted, sizes[i]);
            plain_write(&plain, &crafted);
            plain_write_sample(&plain, 4, 5);
            assert_null(perf_ring_peek(&plain.ring));
            assert_int_equal(plain.ring.lost_records, 1);
            assert_int_equal(plain.ring.tail, plain.ring.head);
            assert_null(perf_ring_peek(&plain.ring));
            assert_int_equal(plain.ring.lost_records, 1);
        }
    }
}

/* A copy of a stack that ends with the address space has any size. */
static void
peek__samples_of_any_size__each_whole_wherever_it_begins(void **state)
{
    struct plain_ring plain;

    (void)state;
    for (uint64_t position = 0; position < 2 * RING_BYTES; position++) {
        plain_init(&plain, position);
        for (size_t more = 1; more < 4; more++) {
            struct crafted crafted;

            craft_sample(&crafted, more, 2, 3);
            craft_bytes(&crafted, "odd", more);
            craft_size(&crafted, crafted.size);
            plain_write(&plain, &crafted);
        }
        for (size_t more = 1; more < 4; more++) {
            const struct perf_event_header *const header = perf_ring_peek(&plain.ring);
            const struct perf_sample *const sample = (const void *)header;

            assert_non_null(header);
            assert_int_equal((uintptr_t)header % 8, 0);
            assert_int_equal(header->size, sizeof(*sample) + more);
            assert_int_equal(sample->id, more);
            assert_memory_equal(sample + 1, "odd", more);
            perf_ring_skip(&plain.ring, header);
        }
        assert_null(perf_ring_peek(&plain.ring));
        assert_int_equal(plain.ring.lost_records, 0);
    }
}

static void
peek__odd_size_of_another_record__rest_given_up_and_counted(void **state)
{
    struct plain_ring plain;
    struct crafted crafted;

    (void)state;
    plain_init(&plain, 3);
    craft_comm(&crafted, 0, 1, 1, "name", 4);
    craft_bytes(&crafted, "x", 1);
    craft_size(&crafted, crafted.size);
    plain_write(&plain, &crafted);
    plain_write_sample(&plain, 1, 2);
    assert_null(perf_ring_peek(&plain.ring));
    assert_int_equal(plain.ring.lost_records, 1);
    assert_int_equal(plain.ring.tail, plain.ring.head);
}

/* The second look must not read the ring again: its bytes differ. */
static void
peek__record_that_wraps__copied_once(void **state)
{
    struct plain_ring plain;
    const struct perf_event_header *header;

    (void)state;
    plain_init(&plain, RING_BYTES - 16);
    plain_write_sample(&plain, 0x1234, 5);
    header = perf_ring_peek(&plain.ring);
    memset(plain.data, 0x55, sizeof(plain.data));
    assert_ptr_equal(perf_ring_peek(&plain.ring), header);
    assert_int_equal(((const struct perf_sample *)(const void *)header)->ip, 0x1234);
    perf_ring_skip(&plain.ring, header);
    assert_null(perf_ring_peek(&plain.ring));
    assert_int_equal(plain.ring.lost_records, 0);
}

static void
peek__empty__nothing(void **state)
{
    struct plain_ring plain;

    (void)state;
    plain_init(&plain, 64);
    assert_null(perf_ring_peek(&plain.ring));
    assert_int_equal(plain.ring.lost_records, 0);
}

/* What a stream has delivered. */
struct delivered {
    uint64_t last_ns;
    size_t samples;
};

static void
note_sample(void *context, struct perf_ring *ring, const struct perf_sample *sample)
{
    struct delivered *const delivered = context;

    (void)ring;
    assert_true(sample->time_ns >= delivered->last_ns);
    delivered->last_ns = sample->time_ns;
    delivered->samples++;
}

static const struct perf_stream_calls calls = {.on_sample = note_sample};

static void
stream__several_rings__in_order_of_time(void **state)
{
    /* Times in each ring; 0 ends. */
    static const uint64_t times[5][7] = {
        {10, 40, 41, 42, 90, 0}, {5, 50, 0}, {0}, {20, 21, 60, 100, 101, 102}, {7, 0},
    };
    static struct plain_ring plain[5];
    struct delivered delivered = {0};
    struct perf_stream stream = {
        .calls = &calls, .context = &delivered, .delivering = true};

    (void)state;
    assert_int_equal(perf_stream_reserve(&stream, 5), 0);
    for (size_t i = 0; i < 5; i++) {
        plain_init(&plain[i], 200);
        for (size_t n = 0; n < 6 && times[i][n] != 0; n++) {
            plain_write_sample(&plain[i], i, times[i][n]);
        }
        perf_stream_add(&stream, &plain[i].ring);
    }
    assert_int_equal(stream.head_count, 4);
    perf_stream_deliver(&stream, 1000);
    assert_int_equal(delivered.samples, 14);
    assert_int_equal(delivered.last_ns, 102);
    assert_int_equal(stream.late, 0);
    perf_stream_finish(&stream);
}

/* Of one ring, of two, and of two deliveries. */
static void
stream__equal_times__none_is_late(void **state)
{
    static struct plain_ring plain[2];
    struct delivered delivered = {0};
    struct perf_stream stream = {
        .calls = &calls, .context = &delivered, .delivering = true};

    (void)state;
    assert_int_equal(perf_stream_reserve(&stream, 2), 0);
    for (size_t round = 1; round <= 2; round++) {
        for (size_t i = 0; i < 2; i++) {
            plain_init(&plain[i], 0);
            plain_write_sample(&plain[i], 1, 7);
            plain_write_sample(&plain[i], 1, 7);
            perf_stream_add(&stream, &plain[i].ring);
        }
        perf_stream_deliver(&stream, 7);
        assert_int_equal(delivered.samples, 4 * round);
        assert_int_equal(stream.late, 0);
    }
    perf_stream_finish(&stream);
}

static void
note_any_sample(void *context, struct perf_ring *ring, const struct perf_sample *sample)
{
    (void)ring;
    (void)sample;
    ((struct delivered *)context)->samples++;
}

static void
stream__older_than_the_delivered__late(void **state)
{
    static const struct perf_stream_calls any = {.on_sample = note_any_sample};
    static struct plain_ring plain;
    struct delivered delivered = {0};
    struct perf_stream stream = {
        .calls = &any, .context = &delivered, .delivering = true};

    (void)state;
    assert_int_equal(perf_stream_reserve(&stream, 1), 0);
    plain_init(&plain, 0);
    plain_write_sample(&plain, 1, 7);
    plain_write_sample(&plain, 1, 6);
    plain_write_sample(&plain, 1, 7);
    perf_stream_add(&stream, &plain.ring);
    perf_stream_deliver(&stream, 7);
    assert_int_equal(delivered.samples, 3);
    assert_int_equal(stream.late, 1);
    perf_stream_finish(&stream);
}

static void
stream__bound__younger_records_stay(void **state)
{
    static struct plain_ring plain;
    struct delivered delivered = {0};
    struct perf_stream stream = {
        .calls = &calls, .context = &delivered, .delivering = true};

    (void)state;
    assert_int_equal(perf_stream_reserve(&stream, 1), 0);
    plain_init(&plain, 0);
    plain_write_sample(&plain, 1, 9);
    plain_write_sample(&plain, 1, 10);
    perf_stream_add(&stream, &plain.ring);
    perf_stream_deliver(&stream, 9);
    assert_int_equal(delivered.samples, 1);
    perf_stream_deliver(&stream, 1000); /* the ring is not added any more */
    assert_int_equal(delivered.samples, 1);
    perf_stream_add(&stream, &plain.ring);
    perf_stream_deliver(&stream, 10);
    assert_int_equal(delivered.samples, 2);
    perf_stream_finish(&stream);
}

/* The kernel's page of a ring, and its tail as each sample found it. */
static struct perf_event_mmap_page kernel_page;
static uint64_t tails[4];
static size_t tail_count;

static void
note_tail(void *context, struct perf_ring *ring, const struct perf_sample *sample)
{
    (void)context;
    (void)ring;
    (void)sample;
    tails[tail_count++] = kernel_page.data_tail;
}

static void
stream__samples_with_stacks__space_given_back_after_each(void **state)
{
    static const struct perf_stream_calls tail_calls = {.on_sample = note_tail};
    static _Alignas(8) uint8_t data[4096];
    struct perf_stream stream = {.calls = &tail_calls, .delivering = true};
    struct perf_ring ring = {
        .page = &kernel_page, .data = data, .size_bytes = sizeof(data), .owner_fd = -1};
    const struct craft_parts parts = {.layout = {.stack = true}, .asked = 600};
    struct crafted sample;

    (void)state;
    assert_int_equal(perf_stream_reserve(&stream, 1), 0);
    craft_sample_parts(&sample, 1, 5, &parts);
    for (size_t i = 0; i < 2; i++) {
        memcpy(data + ring.head, sample.bytes, sample.size);
        ring.head += sample.size;
    }
    craft_sample(&sample, 1, 2, 5);
    for (size_t i = 0; i < 2; i++) {
        memcpy(data + ring.head, sample.bytes, sample.size);
        ring.head += sample.size;
    }
    kernel_page.data_head = ring.head;
    perf_stream_add(&stream, &ring);
    perf_stream_deliver(&stream, 5);
    assert_int_equal(tail_count, 4);
    assert_int_equal(tails[0], 0);
    assert_int_equal(tails[1], 656);
    /* Short ones are given back together. */
    assert_int_equal(tails[2], 2 * 656);
    assert_int_equal(tails[3], 2 * 656);
    assert_int_equal(kernel_page.data_tail, 2 * 656 + 2 * 40);
    perf_stream_finish(&stream);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peek__every_position__same_record),
        cmocka_unit_test(peek__impossible_size__rest_given_up_and_counted),
        cmocka_unit_test(peek__samples_of_any_size__each_whole_wherever_it_begins),
        cmocka_unit_test(peek__odd_size_of_another_record__rest_given_up_and_counted),
        cmocka_unit_test(peek__record_that_wraps__copied_once),
        cmocka_unit_test(peek__empty__nothing),
        cmocka_unit_test(stream__several_rings__in_order_of_time),
        cmocka_unit_test(stream__equal_times__none_is_late),
        cmocka_unit_test(stream__older_than_the_delivered__late),
        cmocka_unit_test(stream__bound__younger_records_stay),
        cmocka_unit_test(stream__samples_with_stacks__space_given_back_after_each),
    };

    return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
