/* SPDX-License-Identifier: MIT */
/* chosen_cases.c - runs only the cases whose name matches NTPROF_TEST_CASE, a pattern
 * with * and ?. Linked into every test; without the variable all cases run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void
choose_cases(void)
{
    const char *const pattern = getenv("NTPROF_TEST_CASE");

    if (pattern != NULL) {
        cmocka_set_test_filter(pattern);
    }
}
