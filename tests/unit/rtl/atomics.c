/* SPDX-License-Identifier: MIT */
/* The core's atomic operations, in one thread; tests/sim/threads.c has them meet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rtl/atomics.h"

/* docs/behaviour.md, Hits: a counter is 32 bits wide and wraps. */
static void
increment_counter__at_top__wraps_and_spares_neighbours(void **state)
{
    ULONG counters[3] = {5, 0xFFFFFFFE, 6};

    (void)state;
    RtlIncrementCounter(&counters[1]);
    assert_int_equal(counters[1], 0xFFFFFFFF);
    RtlIncrementCounter(&counters[1]);
    assert_int_equal(counters[1], 0);
    assert_int_equal(counters[0], 5);
    assert_int_equal(counters[2], 6);
}

static void
add_owned__beyond_32_bits__kept_whole(void **state)
{
    ULONG64 number = 0xFFFFFFFF;

    (void)state;
    RtlAddOwned(&number, 1);
    RtlAddOwned(&number, 0x100000000ull);
    assert_true(RtlReadNumber(&number) == 0x200000000ull);
}

static void
publish__pointer__read_back(void **state)
{
    int target = 3;
    int *location = NULL;

    (void)state;
    RtlPublish(&location, &target);
    assert_ptr_equal(RtlReadPublished(&location), &target);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(increment_counter__at_top__wraps_and_spares_neighbours),
        cmocka_unit_test(add_owned__beyond_32_bits__kept_whole),
        cmocka_unit_test(publish__pointer__read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
