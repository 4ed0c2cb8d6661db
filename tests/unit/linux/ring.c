/* SPDX-License-Identifier: MIT */
/* ring.c - taking records out of a ring, and out of several in order of time. */
#include "crafted.h"

#include "cmocka_all.h"

#include "hal/linux/merge.h"

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
    perf_ring_over(&plain->ring, plain->data, RING_BYTES, plain->scratch);
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
        assert_int_equal(plain.ring.corrupt, 0);
    }
}

static void
peek__impossible_size__rest_given_up_and_counted(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 12, 41, 88, 256, 264, 65528, 65535};
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
            assert_int_equal(plain.ring.corrupt, 1);
            assert_int_equal(plain.ring.tail, plain.ring.head);
            assert_null(perf_ring_peek(&plain.ring));
            assert_int_equal(plain.ring.corrupt, 1);
        }
    }
}

static void
peek__empty__nothing(void **state)
{
    struct plain_ring plain;

    (void)state;
    plain_init(&plain, 64);
    assert_null(perf_ring_peek(&plain.ring));
    assert_int_equal(plain.ring.corrupt, 0);
}

static uint64_t
next_time(struct perf_ring *ring)
{
    const struct perf_event_header *header = perf_ring_peek(ring);

    return header != NULL ? perf_record_time(header, header->size) : PERF_MERGE_EMPTY;
}

static void
merge__several_rings__in_order_of_time(void **state)
{
    /* Times in each ring; 0 ends. Within one ring they may be a little out of order. */
    static const uint64_t times[5][7] = {
        {10, 40, 41, 42, 90, 0}, {5, 50, 0}, {0}, {20, 21, 60, 100, 101, 102}, {7, 0},
    };
    static struct plain_ring plain[5];
    struct perf_merge_entry entries[5];
    struct perf_merge merge = {.entries = entries};
    uint64_t last = 0;
    size_t seen = 0;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        plain_init(&plain[i], 200);
        for (size_t n = 0; n < 6 && times[i][n] != 0; n++) {
            plain_write_sample(&plain[i], i, times[i][n]);
        }
        perf_merge_add(&merge, &plain[i].ring);
    }
    assert_int_equal(merge.count, 4);
    while (merge.count > 0) {
        struct perf_ring *ring = merge.entries[0].ring;
        const uint64_t limit = perf_merge_limit(&merge);
        const struct perf_event_header *header;

        while ((header = perf_ring_peek(ring)) != NULL &&
               perf_record_time(header, header->size) <= limit) {
            const uint64_t time = perf_record_time(header, header->size);

            assert_true(time >= last);
            last = time;
            seen++;
            perf_ring_skip(ring, header);
        }
        perf_merge_settle(&merge, next_time(ring));
    }
    assert_int_equal(seen, 14);
    assert_int_equal(last, 102);
}

static void
merge__one_ring__no_limit(void **state)
{
    static struct plain_ring plain;
    struct perf_merge_entry entries[1];
    struct perf_merge merge = {.entries = entries};

    (void)state;
    plain_init(&plain, 0);
    assert_true(perf_merge_limit(&merge) == UINT64_MAX);
    plain_write_sample(&plain, 1, 9);
    perf_merge_add(&merge, &plain.ring);
    assert_true(perf_merge_limit(&merge) == UINT64_MAX);
    assert_int_equal(merge.entries[0].time_ns, 9);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peek__every_position__same_record),
        cmocka_unit_test(peek__impossible_size__rest_given_up_and_counted),
        cmocka_unit_test(peek__empty__nothing),
        cmocka_unit_test(merge__several_rings__in_order_of_time),
        cmocka_unit_test(merge__one_ring__no_limit),
    };

    return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
