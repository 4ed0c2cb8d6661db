/* SPDX-License-Identifier: MIT */
/* apart.c - what runs apart shares memory and descriptors, and its time is counted. */
#include "base/apart.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* shared - by the test and what it starts. */
struct shared {
    pid_t pid;
    int fd;
    void *memory;
    int failure;
};

static void
work(void *argument)
{
    struct shared *const shared = argument;

    shared->pid = getpid();
    shared->memory = malloc(1000);
    errno = 0;
    (void)close(-1);
    shared->failure = errno;
    shared->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void
run__returns__memory_and_descriptors_are_ours(void **state)
{
    struct shared shared = {.fd = -1};
    struct apart *const apart = apart_start("test", work, &shared, false);

    (void)state;
    assert_non_null(apart);
    apart_join(apart);
    assert_non_null(shared.memory);
    free(shared.memory);
    assert_int_equal(shared.failure, EBADF);
    assert_int_equal(fcntl(shared.fd, F_GETFD), FD_CLOEXEC);
    close(shared.fd);
    /* No wait for children met it, and none is left. */
    assert_int_equal(waitpid(-1, NULL, __WALL), -1);
    assert_int_equal(errno, ECHILD);
}

static void
burn(void *argument)
{
    const uint64_t until_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + CLOCK_SECOND_NS / 10;

    (void)argument;
    while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until_ns) {
    }
}

static void
processor_time__also_after_its_end(void **state)
{
    const uint64_t before_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + apart_cpu_ns();
    struct apart *const apart = apart_start("test", burn, NULL, false);

    (void)state;
    assert_non_null(apart);
    apart_join(apart);
    assert_true(clock_ns(CLOCK_PROCESS_CPUTIME_ID) + apart_cpu_ns() - before_ns >=
                CLOCK_SECOND_NS / 10);
}

static void
wait_for_ever(void *argument)
{
    (void)argument;
    for (;;) {
        pause();
    }
}

/* A command that ends while something runs apart: that ends too, though all signals are
 * blocked in it, and who reads from the command sees the end. */
static void
command__ends__what_runs_apart_too(void **state)
{
    int ends[2];
    char byte;
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(apart_start("test", wait_for_ever, NULL, true) == NULL);
    }
    close(ends[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

/* finishing - a process that calls apart_finish while something runs apart. */
struct finishing {
    int go;
    int done;
};

static void
open_after(void *argument)
{
    const struct finishing *const finishing = argument;
    char byte;
    int fd = -1;

    if (read(finishing->go, &byte, 1) == 1) {
        fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
    }
    byte = (char)(fd > STDERR_FILENO);
    (void)!write(finishing->done, &byte, 1);
    wait_for_ever(NULL);
}

static bool
finish_and_ask(int go, int done)
{
    char byte = 0;

    apart_finish();
    return write(go, "x", 1) == 1 && read(done, &byte, 1) == 1 && byte == 1;
}

/* What still runs must not get a file of its own as standard error. */
static void
streams__at_the_end__none_is_a_file_that_is_opened_then(void **state)
{
    int go[2];
    int done[2];
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(done), 0);
    pid = fork();
    if (pid == 0) {
        struct finishing finishing = {go[0], done[1]};

        _exit(apart_start("test", open_after, &finishing, true) == NULL ||
              !finish_and_ask(go[1], done[0]));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    for (int i = 0; i < 2; i++) {
        close(go[i]);
        close(done[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run__returns__memory_and_descriptors_are_ours),
        cmocka_unit_test(processor_time__also_after_its_end),
        cmocka_unit_test(command__ends__what_runs_apart_too),
        cmocka_unit_test(streams__at_the_end__none_is_a_file_that_is_opened_then),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
