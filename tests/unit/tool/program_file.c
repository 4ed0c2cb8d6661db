/* SPDX-License-Identifier: MIT */
/* program_file.c - why a program's file cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/program_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int fstat_error; /* 0: the kernel answers */

int __real_fstat64(int fd, struct stat *status);
int __wrap_fstat64(int fd, struct stat *status);

int
__wrap_fstat64(int fd, struct stat *status)
{
    if (fstat_error != 0) {
        errno = fstat_error;
        return -1;
    }
    return __real_fstat64(fd, status);
}

static void
assert_refused(const char *path, const char *reason)
{
    char why[200] = "";

    assert_int_equal(program_file_open(path, why, sizeof(why)), -1);
    assert_string_equal(why, reason);
}

static void
open__fstat_fails__its_error_is_the_reason(void **state)
{
    (void)state;
    fstat_error = EIO;
    assert_refused("/proc/self/exe",
                   "the image's type cannot be read: Input/output error");
    fstat_error = 0;
}

static void
open__no_program__the_reason_is_told(void **state)
{
    (void)state;
    assert_refused("/nowhere/none",
                   "the image cannot be opened: No such file or directory");
    assert_refused("/", "the image cannot be opened: it is no regular file");
}

static void
open__program__its_descriptor(void **state)
{
    char why[200] = "";
    const int fd = program_file_open("/proc/self/exe", why, sizeof(why));

    (void)state;
    assert_true(fd >= 0);
    assert_string_equal(why, "");
    close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open__fstat_fails__its_error_is_the_reason),
        cmocka_unit_test(open__no_program__the_reason_is_told),
        cmocka_unit_test(open__program__its_descriptor),
    };

    return cmocka_run_group_tests_name("program_file", tests, NULL, NULL);
}
