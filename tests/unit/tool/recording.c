/* SPDX-License-Identifier: MIT */
/* recording.c - recordings that were never opened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/recording.h"

#include <fcntl.h>

static void
recording_close__never_opened__closes_no_descriptor(void **state)
{
    static const struct record_options options;
    struct recording recording = {.options = &options};

    (void)state;
    assert_int_not_equal(fcntl(0, F_GETFD), -1);
    recording_close(&recording);
    assert_int_not_equal(fcntl(0, F_GETFD), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recording_close__never_opened__closes_no_descriptor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
