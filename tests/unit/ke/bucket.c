/* SPDX-License-Identifier: MIT */
/* Which counter an address belongs to, and whether a buffer has one for each.
 * docs/behaviour.md, Create, Hits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ke/bucket.h"

#define TOP 0xFFFFFFFFFFFFFFFFull

static void
check_index(ULONG64 address, ULONG64 base, ULONG64 size, ULONG log2, ULONG64 expected)
{
    if (KiBucketIndex(address, base, size, log2) != expected) {
        print_error("address %llx base %llx size %llx log2 %u\n",
                    (unsigned long long)address, (unsigned long long)base,
                    (unsigned long long)size, (unsigned)log2);
    }
    assert_true(KiBucketIndex(address, base, size, log2) == expected);
}

static void
bucket_index__address_below_base__none(void **state)
{
    (void)state;
    for (ULONG log2 = 2; log2 <= 31; log2++) {
        check_index(0x400FFF, 0x401000, 0x1000, log2, KI_BUCKET_NONE);
        check_index(0, 0x401000, 0x1000, log2, KI_BUCKET_NONE);
        check_index(0, 1, TOP - 1, log2, KI_BUCKET_NONE);
    }
}

/* Each size around whole buckets, for every bucket: first and last byte of each part.
 */
/* rule: hit-region */
static void
bucket_index__sizes_around_buckets__last_inside_end_outside(void **state)
{
    static const ULONG64 bases[] = {0, 1, 0x401000, 0x7FFFFFFFF003, 0xFFFF800000000000};

    (void)state;
    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
        for (ULONG log2 = 2; log2 <= 31; log2++) {
            const ULONG64 bucket = 1ull << log2;
            const ULONG64 sizes[] = {1,          bucket - 1,     bucket,
                                     bucket + 1, 3 * bucket - 1, 3 * bucket};

            for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
                const ULONG64 size = sizes[k];
                const ULONG64 last = size <= bucket ? 0 : size == bucket + 1 ? 1 : 2;

                check_index(bases[i], bases[i], size, log2, 0);
                check_index(bases[i] + size - 1, bases[i], size, log2, last);
                check_index(bases[i] + size, bases[i], size, log2, KI_BUCKET_NONE);
                check_index(bases[i] - 1, bases[i], size, log2, KI_BUCKET_NONE);
            }
        }
    }
}

/* rule: hit-index */
static void
bucket_index__bucket_border__next_bucket(void **state)
{
    (void)state;
    for (ULONG log2 = 2; log2 <= 31; log2++) {
        const ULONG64 bucket = 1ull << log2;

        check_index(0x401000 + bucket - 1, 0x401000, 4 * bucket, log2, 0);
        check_index(0x401000 + bucket, 0x401000, 4 * bucket, log2, 1);
        check_index(0x401000 + 2 * bucket - 1, 0x401000, 4 * bucket, log2, 1);
        check_index(0x401000 + 2 * bucket, 0x401000, 4 * bucket, log2, 2);
    }
}

static void
bucket_index__size_0__never(void **state)
{
    (void)state;
    check_index(0x401000, 0x401000, 0, 2, KI_BUCKET_NONE);
    check_index(0x400FFF, 0x401000, 0, 2, KI_BUCKET_NONE);
    check_index(0, 0, 0, 31, KI_BUCKET_NONE);
}

static void
bucket_index__region_at_top_of_memory__last_byte_inside(void **state)
{
    (void)state;
    /* [2^64 - 16, 2^64 - 1): the largest end that create accepts. */
    check_index(TOP - 1, TOP - 15, 15, 2, 3);
    check_index(TOP, TOP - 15, 15, 2, KI_BUCKET_NONE);
    check_index(0, TOP - 15, 15, 2, KI_BUCKET_NONE);
    check_index(TOP - 16, TOP - 15, 15, 2, KI_BUCKET_NONE);
    /* The whole of memory but its last byte. */
    check_index(TOP - 1, 0, TOP, 31, 0x1FFFFFFFF);
    check_index(TOP, 0, TOP, 31, KI_BUCKET_NONE);
}

/* The worked examples of docs/behaviour.md, Hits: what the defect of 6.2 to 1803 would
 * have counted. */
static void
bucket_index__first_address_after_region__none(void **state)
{
    (void)state;
    check_index(0x401004, 0x401000, 4, 2, KI_BUCKET_NONE);
    check_index(0x401005, 0x401000, 5, 2, KI_BUCKET_NONE);
    check_index(0x401004, 0x401000, 5, 2, 1);
}

struct fit_row {
    ULONG buffer;
    ULONG log2;
    ULONG64 largest; /* size that fits */
    ULONG64 defect;  /* largest size that 3.10 to 1607 accepted */
};

/* docs/behaviour.md, Create. */
static const struct fit_row fit_rows[] = {
    {4, 2, 4, 4},
    {4, 3, 8, 9},
    {4, 4, 16, 19},
    {4, 6, 64, 79},
    {4, 8, 256, 319},
    {4, 31, 0x80000000, 0x9FFFFFFF},
    {8, 4, 32, 35},
    {5, 2, 4, 5},
    {7, 4, 16, 31},
    {3, 2, 0, 3},
    {1, 31, 0, 0},
    {8, 3, 16, 16}, /* S = 15 here: the printed "needed bytes" form rejects it */
    {0xFFFFFFFF, 2, 0xFFFFFFFC, 0xFFFFFFFC},
    {0xFFFFFFFF, 31, 0x1FFFFFFF80000000, 0x1FFFFFFF80000000},
};

/* rule: create-buffer-too-small */
static void
buckets_fit__table__exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(fit_rows) / sizeof(fit_rows[0]); i++) {
        const struct fit_row *const row = &fit_rows[i];

        assert_true(KiBucketsFit(row->largest, row->log2, row->buffer));
        assert_false(KiBucketsFit(row->largest + 1, row->log2, row->buffer));
        assert_true(KiBucketsFit(0, row->log2, row->buffer));
        if (row->largest != 0) {
            assert_true(KiBucketsFit(row->largest - 1, row->log2, row->buffer));
        }
        if (row->defect > row->largest) {
            assert_false(KiBucketsFit(row->defect, row->log2, row->buffer));
        }
    }
}

/* Sizes whose number of buckets is 0, or few, once cut to 32 bits. */
static void
buckets_fit__bucket_count_beyond_32_bits__rejected(void **state)
{
    static const ULONG64 sizes[] = {
        0x400000000,  0x400000001,       0x400000004,        0x3FFFFFFFF, 0x800000000,
        0x4000000000, 0x100000000000000, 0x8000000000000000, TOP - 3,     TOP - 1,
        TOP};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_false(KiBucketsFit(sizes[i], 2, 4));
        assert_false(KiBucketsFit(sizes[i], 2, 8));
        assert_false(KiBucketsFit(sizes[i], 2, 0xFFFFFFFF));
    }
    assert_false(KiBucketsFit(TOP, 31, 0xFFFFFFFF));
    assert_false(KiBucketsFit((1ull << 63) + 1, 31, 4));
}

/* The published form that is right: reject when S > (N cut to a multiple of 4) << (B -
 * 2). */
static void
buckets_fit__many_values__as_published_form(void **state)
{
    static const ULONG buffers[] = {1,  2,  3,    4,    5,    7,          8,         9,
                                    15, 16, 4095, 4096, 4097, 0x80000000, 0xFFFFFFFF};

    (void)state;
    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) {
        for (ULONG log2 = 2; log2 <= 31; log2++) {
            const ULONG64 most = (ULONG64)(buffers[i] & ~3u) << (log2 - 2);

            for (ULONG64 step = 0; step < 70; step++) {
                assert_int_equal(KiBucketsFit(most + step, log2, buffers[i]),
                                 step == 0);
                if (step <= most) {
                    assert_true(KiBucketsFit(most - step, log2, buffers[i]));
                }
            }
        }
    }
}

static void
processor_in_set__edges_of_words__exact_bit(void **state)
{
    const ULONG64 set[2] = {1ull << 63 | 1, 1ull << 1};

    (void)state;
    for (ULONG processor = 0; processor < 300; processor++) {
        assert_int_equal(KiProcessorInSet(processor, set, 2),
                         processor == 0 || processor == 63 || processor == 65);
    }
    assert_false(KiProcessorInSet(0xFFFFFFFF, set, 2));
    assert_false(KiProcessorInSet(0, set, 0));
    assert_false(KiProcessorInSet(65, set, 1));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bucket_index__address_below_base__none),
        cmocka_unit_test(bucket_index__sizes_around_buckets__last_inside_end_outside),
        cmocka_unit_test(bucket_index__bucket_border__next_bucket),
        cmocka_unit_test(bucket_index__size_0__never),
        cmocka_unit_test(bucket_index__region_at_top_of_memory__last_byte_inside),
        cmocka_unit_test(bucket_index__first_address_after_region__none),
        cmocka_unit_test(buckets_fit__table__exact),
        cmocka_unit_test(buckets_fit__bucket_count_beyond_32_bits__rejected),
        cmocka_unit_test(buckets_fit__many_values__as_published_form),
        cmocka_unit_test(processor_in_set__edges_of_words__exact_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
