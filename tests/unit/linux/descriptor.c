/* SPDX-License-Identifier: MIT */
/* descriptor.c - which descriptors a forked child has. */
#include "cmocka_all.h"

#include "hal/linux/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int
open_something(void)
{
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static bool
is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0 || errno != EBADF;
}

static bool
child_has(int fd)
{
    const pid_t child = fork();
    int status;

    if (child == 0) {
        _exit(is_open(fd) ? 1 : 0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) != 0;
}

static void
own__descriptor__closed_in_the_child_alone(void **state)
{
    const int owned = perf_descriptor_own(open_something());
    const int other = open_something();

    (void)state;
    assert_false(child_has(owned));
    assert_true(child_has(other));
    assert_true(is_open(owned));
    perf_descriptor_close(owned);
    assert_false(is_open(owned));
    close(other);
}

static void
close__number_used_again__the_child_keeps_the_new_one(void **state)
{
    const int owned = perf_descriptor_own(open_something());
    int again;

    (void)state;
    perf_descriptor_close(owned);
    again = open_something();
    assert_int_equal(again, owned);
    assert_true(child_has(again));
    close(again);
}

static void
own__many_descriptors__all_closed_in_the_child(void **state)
{
    enum { FROM = 500, COUNT = 200, STEP = 3 };
    struct rlimit files;
    const int one = open_something();

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    assert_true(files.rlim_cur > FROM + COUNT * STEP);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(fcntl(one, F_DUPFD_CLOEXEC, FROM + i * STEP), FROM + i * STEP);
        (void)perf_descriptor_own(FROM + i * STEP);
    }
    for (int i = 0; i < COUNT; i += 67) {
        assert_false(child_has(FROM + i * STEP));
        assert_false(child_has(FROM + i * STEP + 1));
    }
    assert_true(child_has(one));
    for (int i = 0; i < COUNT; i++) {
        perf_descriptor_close(FROM + i * STEP);
    }
    close(one);
}

static void
own__error_of_a_failed_open__passed_on(void **state)
{
    (void)state;
    assert_int_equal(perf_descriptor_own(-EMFILE), -EMFILE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own__descriptor__closed_in_the_child_alone),
        cmocka_unit_test(close__number_used_again__the_child_keeps_the_new_one),
        cmocka_unit_test(own__many_descriptors__all_closed_in_the_child),
        cmocka_unit_test(own__error_of_a_failed_open__passed_on),
    };

    return cmocka_run_group_tests_name("perf descriptor", tests, NULL, NULL);
}
