/* SPDX-License-Identifier: MIT */
/* embedded.c - a command that is one file: what it carries, and what it lacks. */
#include "base/embedded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/preload_object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The command's own would be made by scripts/embed_files.py. */
extern const struct embedded_file ntprof_embedded_files[];
const struct embedded_file ntprof_embedded_files[] = {
    {"libntprof-agent.so", (const unsigned char *)"its bytes", 9},
    {NULL, NULL, 0},
};

static void
find__name__its_file_or_none(void **state)
{
    (void)state;
    assert_true(embedded_is_used());
    assert_int_equal(embedded_find("libntprof-agent.so")->size, 9);
    assert_null(embedded_find("libntprof"));
    assert_null(embedded_find(""));
}

static void
object__open__sealed_file_that_proc_names(void **state)
{
    struct preload_object object;
    struct stat status;
    char wanted[64];
    char bytes[16];
    char why[256];

    (void)state;
    assert_true(preload_object_open(&object, false, why, sizeof(why)));
    snprintf(wanted, sizeof(wanted), "/proc/self/fd/%d", object.fd);
    assert_string_equal(object.path, wanted);
    assert_int_equal(pread(object.fd, bytes, sizeof(bytes), 0), 9);
    assert_memory_equal(bytes, "its bytes", 9);
    assert_int_equal(fcntl(object.fd, F_GETFD), FD_CLOEXEC);

    assert_int_equal(pwrite(object.fd, "x", 1, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(object.fd, 1), -1);
    assert_true((fcntl(object.fd, F_GET_SEALS) & F_SEAL_SEAL) != 0);
    /* Programs of another user load it. */
    assert_int_equal(fstat(object.fd, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0444);

    preload_object_close(&object);
    assert_int_equal(access(wanted, F_OK), -1);
    assert_int_equal(object.fd, -1);
}

static void
object__not_inside__said(void **state)
{
    struct preload_object object;
    char why[256];

    (void)state;
    assert_false(preload_object_open(&object, true, why, sizeof(why)));
    assert_non_null(strstr(why, "libntprof-agent-i386.so is not in this ntprof"));
    assert_int_equal(object.fd, -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(find__name__its_file_or_none),
        cmocka_unit_test(object__open__sealed_file_that_proc_names),
        cmocka_unit_test(object__not_inside__said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
