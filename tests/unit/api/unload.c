/* SPDX-License-Identifier: MIT */
/* A program that loads the library, uses it and unloads it: a plug-in does so. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ntprof/nt_profile.h>

static const char *library;

/* A default session has a thread, which nobody can end: its code must stay. */
static void
library__closed_after_a_call__stays(void **state)
{
    NTSTATUS (*query)(KPROFILE_SOURCE source, ULONG * interval);
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    ULONG interval = 0;
    void *symbol;

    (void)state;
    assert_non_null(loaded);
    symbol = dlsym(loaded, "NtQueryIntervalProfile");
    assert_non_null(symbol);
    *(void **)(void *)&query = symbol;
    (void)query(ProfileTime, &interval); /* fails where no back end works */
    assert_int_equal(dlclose(loaded), 0);

    loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    assert_non_null(loaded);
    assert_ptr_equal(dlsym(loaded, "NtQueryIntervalProfile"), symbol);
    assert_int_equal(dlclose(loaded), 0);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library__closed_after_a_call__stays),
    };

    if (argc != 2) {
        return 2;
    }
    library = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
