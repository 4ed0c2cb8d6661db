/* SPDX-License-Identifier: MIT */
/* leaves_child.c - a test that fails while its child waits: the child must not outlive
 * the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

static void
child__waits__while_the_test_fails(void **state)
{
    (void)state;
    if (fork() == 0) {
        for (;;) {
            pause();
        }
    }
    fail();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child__waits__while_the_test_fails)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
