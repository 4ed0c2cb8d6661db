/* SPDX-License-Identifier: MIT */
/* counts.c - hits in 64 bits: merging, moving, growing. */
#include "record/collect/counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void
add(struct counts *counts, uint64_t place, uint32_t program, uint32_t source,
    uint64_t hits)
{
    const struct count count = {
        .place = place, .hits = hits, .program = program, .source = source};

    assert_true(counts_make_room(counts));
    counts_add(counts, &count);
}

static void
assert_item(const struct counts *counts, size_t at, uint64_t place, uint32_t program,
            uint32_t source, uint64_t hits)
{
    assert_true(at < counts->count);
    assert_int_equal(counts->items[at].place, place);
    assert_int_equal(counts->items[at].program, program);
    assert_int_equal(counts->items[at].source, source);
    assert_int_equal(counts->items[at].hits, hits);
}

static void
counts_merge__same_bucket_twice__added_up_in_64_bits(void **state)
{
    struct counts counts = {0};

    (void)state;
    add(&counts, 8, 1, 0, UINT32_MAX);
    add(&counts, 4, 1, 0, 3);
    add(&counts, 8, 1, 0, UINT32_MAX);
    add(&counts, 8, 0, 0, 5);
    add(&counts, 8, 1, 1, 7);
    counts_merge(&counts);
    assert_int_equal(counts.count, 4);
    assert_item(&counts, 0, 4, 1, 0, 3);
    assert_item(&counts, 1, 8, 0, 0, 5);
    assert_item(&counts, 2, 8, 1, 0, UINT64_C(0x1fffffffe));
    assert_item(&counts, 3, 8, 1, 1, 7);
    counts_finish(&counts);
    assert_null(counts.items);
}

static void
counts_merge__empty__stays_empty(void **state)
{
    struct counts counts = {0};

    (void)state;
    counts_merge(&counts);
    assert_int_equal(counts.count, 0);
    counts_finish(&counts);
}

static void
counts_add__same_buckets_for_ever__memory_does_not_grow(void **state)
{
    enum { BUCKETS = 1000, ROUNDS = 2000 };
    struct counts counts = {0};

    (void)state;
    for (uint64_t i = 0; i < BUCKETS * ROUNDS; i++) {
        add(&counts, i % BUCKETS, 0, 0, 1);
    }
    assert_true(counts.capacity <= 4 * BUCKETS);
    counts_merge(&counts);
    assert_int_equal(counts.count, BUCKETS);
    for (size_t i = 0; i < BUCKETS; i++) {
        assert_item(&counts, i, i, 0, 0, ROUNDS);
    }
    counts_finish(&counts);
}

static void
counts_move__to_empty_and_to_full__all_is_there_once(void **state)
{
    struct counts from = {0};
    struct counts to = {0};

    (void)state;
    add(&from, 1, 0, 0, 10);
    add(&from, 2, 0, 0, 20);
    assert_true(counts_move(&from, &to));
    assert_int_equal(from.count, 0);
    counts_merge(&to);
    for (uint64_t i = 2; i < 1000; i++) {
        add(&from, i, 0, 0, 1);
    }
    assert_true(counts_move(&from, &to));
    assert_int_equal(from.count, 0);
    counts_merge(&to);
    assert_int_equal(to.count, 999);
    assert_item(&to, 0, 1, 0, 0, 10);
    assert_item(&to, 1, 2, 0, 0, 21);
    assert_item(&to, 2, 3, 0, 0, 1);
    add(&from, 5, 0, 0, 9);
    assert_true(counts_move(&from, &to));
    counts_merge(&to);
    assert_int_equal(to.count, 999);
    assert_item(&to, 4, 5, 0, 0, 10);
    counts_finish(&from);
    counts_finish(&to);
}

static void
counts_collect__few_again_and_again__all_is_there_and_memory_bounded(void **state)
{
    enum { BUCKETS = 1000, LOOKS = 3000, EACH = 7 };
    struct counts from = {0};
    struct counts to = {0};
    uint64_t hits = 0;

    (void)state;
    for (uint64_t look = 0; look < LOOKS; look++) {
        for (uint64_t i = 0; i < EACH; i++) {
            add(&from, (look * EACH + i) % BUCKETS, 0, 0, 2);
        }
        counts_merge(&from);
        assert_true(counts_collect(&from, &to));
        assert_int_equal(from.count, 0);
        assert_int_equal(from.merged, 0);
    }
    assert_true(to.capacity <= 4 * BUCKETS);
    counts_merge(&to);
    assert_int_equal(to.count, BUCKETS);
    for (size_t i = 0; i < BUCKETS; i++) {
        assert_int_equal(to.items[i].place, i);
        hits += to.items[i].hits;
    }
    assert_int_equal(hits, 2 * EACH * LOOKS);
    counts_finish(&from);
    counts_finish(&to);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_merge__same_bucket_twice__added_up_in_64_bits),
        cmocka_unit_test(counts_merge__empty__stays_empty),
        cmocka_unit_test(counts_add__same_buckets_for_ever__memory_does_not_grow),
        cmocka_unit_test(counts_move__to_empty_and_to_full__all_is_there_once),
        cmocka_unit_test(
            counts_collect__few_again_and_again__all_is_there_and_memory_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
