/* SPDX-License-Identifier: MIT */
/* firing.c - sources that open and fire, and breakpoints that never do. */
#include "breakpoints.h"

#include "hal/linux/firing.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct perf_source breakpoint = {.number = ProfileDynamicBase,
                                              .type = PERF_TYPE_BREAKPOINT};

static void
breakpoint_that_never_fires__refused_with_the_reason(void **state)
{
    struct perf_firing firing = {0};
    char reason[192] = "";

    (void)state;
    setenv("NTPROF_TEST_BREAKPOINTS", "never", 1);
    assert_false(perf_firing_probe(&firing, &breakpoint, reason, sizeof(reason)));
    assert_string_equal(reason, "opens, but never fires: this machine does not pass "
                                "debug registers through");
    unsetenv("NTPROF_TEST_BREAKPOINTS");
    /* The session keeps its first answer. */
    assert_false(perf_firing_probe(&firing, &breakpoint, reason, sizeof(reason)));
}

static void
breakpoint_that_fires__passes(void **state)
{
    struct perf_firing firing = {0};
    char reason[192] = "";

    need_breakpoints();

    (void)state;
    assert_true(perf_firing_probe(&firing, &breakpoint, reason, sizeof(reason)));
    assert_string_equal(reason, "");
    assert_true(firing.breakpoint_tried);
}

/* Every machine of these tests has both, and the probe must not refuse what works. */
static void
clock_and_page_faults__fire__pass(void **state)
{
    struct perf_firing firing = {0};
    struct perf_sources sources;
    char reason[192] = "";

    (void)state;
    assert_int_equal(perf_sources_init(&sources, 0), 0);
    for (int i = 0; i < 100; i++) {
        assert_true(perf_firing_probe(&firing, perf_sources_find(&sources, ProfileTime),
                                      reason, sizeof(reason)));
        assert_true(perf_firing_probe(&firing,
                                      perf_sources_find(&sources, ProfilePageFaults),
                                      reason, sizeof(reason)));
    }
    assert_string_equal(reason, "");
    assert_false(firing.breakpoint_tried);
    perf_sources_finish(&sources);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breakpoint_that_never_fires__refused_with_the_reason),
        cmocka_unit_test(breakpoint_that_fires__passes),
        cmocka_unit_test(clock_and_page_faults__fire__pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
