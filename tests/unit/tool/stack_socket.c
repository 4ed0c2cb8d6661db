/* SPDX-License-Identifier: MIT */
/* stack_socket.c - what is left behind where a socket cannot be made. */
#include "record/collect/stack_socket.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static size_t
count_entries(const char *folder)
{
    DIR *const opened = opendir(folder);
    const struct dirent *entry;
    size_t count = 0;

    assert_non_null(opened);
    while ((entry = readdir(opened)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    closedir(opened);
    return count;
}

/* Each of the descriptors that it needs is once the first one that has no room. */
static void
open__few_descriptors__no_folder_is_left(void **state)
{
    char folder[] = "/tmp/ntprof-test-XXXXXX";
    struct rlimit all;
    bool opened = false;
    int lowest;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    lowest = dup(STDERR_FILENO);
    assert_true(lowest >= 0);
    close(lowest);
    for (int room = 0; !opened && room < 16; room++) {
        const struct rlimit few = {.rlim_cur = (rlim_t)(lowest + room),
                                   .rlim_max = all.rlim_max};
        struct stack_socket socket;
        int result;

        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        result = stack_socket_open(&socket);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
        opened = result == 0;
        assert_true(result <= 0);
        assert_int_equal(count_entries(folder), 0);
        if (opened) {
            stack_socket_close(&socket);
        }
    }
    assert_true(opened);
    assert_int_equal(rmdir(folder), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open__few_descriptors__no_folder_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
