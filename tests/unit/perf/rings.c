/* SPDX-License-Identifier: MIT */
/* rings.c - how large rings are, by processors, pages and memory. */
#include "cmocka_all.h"

#include "hal/perf/rings.h"

static void
bytes__machines__bounded_over_all_processors(void **state)
{
    enum { KB = 1024, MB = 1024 * KB };
    static const struct {
        uint32_t processors;
        size_t page_bytes;
        bool large;
        uint64_t available_mb;
        size_t bytes;
    } rows[] = {
        /* In bytes, whatever a page has. */
        {2, 4 * KB, false, 2048, 512 * KB},
        {2, 16 * KB, false, 2048, 512 * KB},
        {2, 64 * KB, false, 2048, 512 * KB},
        {2, 4 * KB, true, 2048, 2 * MB},
        {2, 16 * KB, true, 2048, 2 * MB},
        {2, 64 * KB, true, 2048, 2 * MB},
        {128, 64 * KB, true, 65536, 512 * KB},
        /* All large ones have 32 MB. */
        {16, 4 * KB, true, 65536, 2 * MB},
        {17, 4 * KB, true, 65536, 1 * MB},
        {64, 4 * KB, true, 65536, 512 * KB},
        {65, 4 * KB, true, 65536, 512 * KB},
        /* All together have an eighth of what is free, heads included. */
        {64, 4 * KB, false, 512, 512 * KB},
        {128, 4 * KB, false, 512, 256 * KB},
        {64, 4 * KB, false, 256, 256 * KB},
        {4, 4 * KB, true, 32, 512 * KB},
        {2, 64 * KB, true, 32, 1 * MB},
        {1024, 4 * KB, true, 65536, 512 * KB},
        {1024, 4 * KB, true, 2048, 128 * KB},
        /* But not less than a ring needs. */
        {4096, 4 * KB, true, 64, 8 * KB},
        {4096, 16 * KB, true, 64, 16 * KB},
        {4096, 64 * KB, true, 64, 64 * KB},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(perf_ring_bytes(rows[i].processors, rows[i].page_bytes,
                                         rows[i].large, rows[i].available_mb * MB),
                         rows[i].bytes);
    }
    assert_int_equal(perf_ring_bytes(4096, 4 * KB, false, UINT64_MAX), 512 * KB);
    assert_int_equal(perf_ring_bytes(4096, 64 * KB, true, 0), 64 * KB);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes__machines__bounded_over_all_processors),
    };

    return cmocka_run_group_tests_name("rings", tests, NULL, NULL);
}
