/* SPDX-License-Identifier: MIT */
/* metrics.c - what a monitoring system scrapes from the agent. */
#include "daemon/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
metrics_print__source_of_any_bytes__escaped_as_everywhere(void **state)
{
    struct metrics metrics = {
        .sources = {{.name = "uprobe:/a\"b\\c\n\xff+0x10", .taken = 7, .granted = 1}},
        .source_count = 1,
    };
    struct buffer text = {0};
    const char *printed;

    (void)state;
    metrics_print(&metrics, &text);
    printed = buffer_text(&text);
    assert_non_null(printed);
    assert_non_null(strstr(
        printed, "\nntprof_agent_hits_total{source="
                 "\"uprobe:/a\\\"b\\\\c\\\\x0a\\\\xff+0x10\",kind=\"taken\"} 7\n"));
    assert_non_null(strstr(printed, "\nntprof_agent_interval{source="
                                    "\"uprobe:/a\\\"b\\\\c\\\\x0a\\\\xff+0x10\"} 1\n"));
    buffer_finish(&text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_print__source_of_any_bytes__escaped_as_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
