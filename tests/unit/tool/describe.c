/* SPDX-License-Identifier: MIT */
/* describe.c - what the last line of a recording says of its stacks. */
#include "record/describe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
assert_line(const uint64_t ends[STACK_ENDS], uint64_t stack_bytes, uint64_t asked_bytes,
            const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_true(describe_stacks(out, ends, stack_bytes, asked_bytes, 1234, 262144));
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void
describe_stacks__as_much_as_asked__only_ends(void **state)
{
    const uint64_t ends[STACK_ENDS] = {[STACK_WHOLE] = 3, [STACK_KERNEL_CUT] = 1};
    const uint64_t cut[STACK_ENDS] = {[STACK_WHOLE] = 3, [STACK_CUT] = 1};

    (void)state;
    assert_line(ends, 16384, 16384,
                "stacks: 75.0% whole, 25.0% cut in the kernel (1,234 of 262,144 "
                "contexts)\n");
    assert_line(cut, 16384, 16384,
                "stacks: 75.0% whole, 25.0% cut at 16 kB (1,234 of 262,144 "
                "contexts)\n");
}

/* ntprof-run(1), --stack-bytes: the last line says how much is copied. */
static void
describe_stacks__less_than_asked__says_how_much(void **state)
{
    const uint64_t none[STACK_ENDS] = {0};
    const uint64_t whole[STACK_ENDS] = {[STACK_WHOLE] = 3};
    const uint64_t cut[STACK_ENDS] = {[STACK_WHOLE] = 3, [STACK_CUT] = 1};

    (void)state;
    assert_line(whole, 4096, 16384,
                "stacks: 100.0% whole, 4 kB copied of 16 kB (1,234 of 262,144 "
                "contexts)\n");
    assert_line(none, 4104, 65528,
                "stacks: none, 4104 bytes copied of 65528 bytes (1,234 of 262,144 "
                "contexts)\n");
    assert_line(cut, 4104, 16384,
                "stacks: 75.0% whole, 25.0% cut at 4104 bytes (1,234 of 262,144 "
                "contexts)\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describe_stacks__as_much_as_asked__only_ends),
        cmocka_unit_test(describe_stacks__less_than_asked__says_how_much),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
