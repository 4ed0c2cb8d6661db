/* SPDX-License-Identifier: MIT */
/*
 * own_file.c - the preload object as a descriptor that programs inherit: kept for the
 * next program, opened again, or taken out of its environment.
 */
#include "preload/preload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUMBER = 200, COMMANDS = 201 }; /* here, and where the "command" has it */

#define NAME "/proc/self/fd/200"

static char asks[] = "LD_PRELOAD=" NAME;
static char asks_others[] = "LD_PRELOAD=first.so:" NAME ":last.so";
static char path_variable[] = "PATH=/bin";

void
record_put_command_path(char path[RECORD_PATH_BYTES], unsigned fd)
{
    assert_int_equal(fd, NUMBER);
    snprintf(path, RECORD_PATH_BYTES, "/proc/self/fd/%d", COMMANDS);
}

static int other = -1; /* what the command's descriptor opens to; -1: what it is */
static int taken = -1; /* what another thread opens as NUMBER meanwhile; -1: nothing */

int __real_open(const char *path, int flags);
int __wrap_open(const char *path, int flags);

int
__wrap_open(const char *path, int flags)
{
    if (taken >= 0) {
        dup3(taken, NUMBER, O_CLOEXEC);
    }
    return other >= 0 ? fcntl(other, F_DUPFD_CLOEXEC, 0) : __real_open(path, flags);
}

/* Have the object be descriptor NUMBER, and one of the command. */
static int
begin(void **state)
{
    const int fd = memfd_create("object", MFD_CLOEXEC);

    (void)state;
    dup2(fd, NUMBER);
    dup3(fd, COMMANDS, O_CLOEXEC);
    close(fd);
    setenv("LD_PRELOAD", NAME ":last.so", 1);
    own_file_begin();
    return 0;
}

static int
finish(void **state)
{
    (void)state;
    close(NUMBER);
    close(COMMANDS);
    unsetenv("LD_PRELOAD");
    return 0;
}

static void
object__is_an_installed_file__environments_stay(void **state)
{
    char *environment[] = {asks, NULL};

    (void)state;
    setenv("LD_PRELOAD", "/usr/lib/ntprof/libntprof-agent.so", 1);
    own_file_begin();
    assert_true(own_file_loads(environment));
    assert_true(own_file_check_own_environment());
    setenv("LD_PRELOAD", "/usr/lib/ntprof/libntprof-agent.so.1:last.so", 1);
    assert_false(own_file_check_own_environment());
    unsetenv("LD_PRELOAD");
    assert_false(own_file_check_own_environment());
}

static void
object__name_is_unknown__environment_is_believed(void **state)
{
    (void)state;
    unsetenv("LD_PRELOAD");
    own_file_begin();
    assert_true(own_file_check_own_environment());
}

static void
object__is_open__loads(void **state)
{
    char *const environment[] = {path_variable, asks, NULL};

    (void)state;
    errno = EXDEV;
    assert_true(own_file_loads(environment));
    assert_int_equal(errno, EXDEV);
}

static void
object__would_be_closed_by_exec__loads(void **state)
{
    char *const environment[] = {asks, NULL};

    (void)state;
    fcntl(NUMBER, F_SETFD, FD_CLOEXEC);
    assert_true(own_file_loads(environment));
    assert_int_equal(fcntl(NUMBER, F_GETFD), 0);
}

static void
object__was_closed__opened_again(void **state)
{
    char *const environment[] = {asks, NULL};

    (void)state;
    close(NUMBER);
    assert_true(own_file_loads(environment));
    assert_int_equal(fcntl(NUMBER, F_GETFD), 0);
}

static void
object__was_closed_and_environment_asks_for_none__stays_closed(void **state)
{
    char *const environment[] = {path_variable, NULL};

    (void)state;
    close(NUMBER);
    assert_true(own_file_loads(environment));
    assert_true(own_file_loads(NULL));
    assert_int_equal(fcntl(NUMBER, F_GETFD), -1);
}

static void
object__command_has_another_file__does_not_load(void **state)
{
    char *const environment[] = {asks, NULL};
    const int fd = memfd_create("other", MFD_CLOEXEC);

    (void)state;
    close(NUMBER);
    dup3(fd, COMMANDS, O_CLOEXEC);
    close(fd);
    errno = EXDEV;
    assert_false(own_file_loads(environment));
    assert_int_equal(errno, EXDEV);
    assert_int_equal(fcntl(NUMBER, F_GETFD), -1);
}

static void
object__command_closes_it_meanwhile__what_is_opened_is_closed(void **state)
{
    char *const environment[] = {asks, NULL};

    (void)state;
    close(NUMBER);
    other = memfd_create("other", MFD_CLOEXEC);
    assert_false(own_file_loads(environment));
    assert_int_equal(fcntl(NUMBER, F_GETFD), -1);
    close(other);
    other = -1;
}

static void
object__program_opens_the_number_meanwhile__that_is_kept_and_not_loaded(void **state)
{
    char *const environment[] = {asks, NULL};
    const int lowest = dup(STDERR_FILENO);
    struct stat opened;
    struct stat found;

    (void)state;
    close(lowest);
    close(NUMBER);
    taken = memfd_create("other", MFD_CLOEXEC);
    fstat(taken, &opened);
    assert_false(own_file_loads(environment));
    close(taken);
    taken = -1;
    assert_int_equal(fstat(NUMBER, &found), 0);
    assert_int_equal(found.st_ino, opened.st_ino);
    assert_int_equal(fcntl(NUMBER, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(COMMANDS + 1, F_GETFD), -1);
    assert_int_equal(dup(STDERR_FILENO), lowest); /* nothing else stays open */
    close(lowest);
}

static void
object__number_is_the_only_free_one__opened_again(void **state)
{
    char *const environment[] = {asks, NULL};
    struct rlimit before;
    int fd = 0;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &before);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){NUMBER + 1, before.rlim_max});
    close(NUMBER);
    while (fd >= 0 && fd != NUMBER) {
        fd = dup(STDERR_FILENO);
    }
    close(NUMBER);
    assert_true(own_file_loads(environment));
    assert_int_equal(fcntl(NUMBER, F_GETFD), 0);
    for (fd = STDERR_FILENO + 1; fd < NUMBER; fd++) {
        close(fd);
    }
    setrlimit(RLIMIT_NOFILE, &before);
}

static void
object__number_is_of_another_file__that_is_kept_and_not_loaded(void **state)
{
    char *const environment[] = {asks, NULL};
    const int fd = memfd_create("other", MFD_CLOEXEC);

    (void)state;
    dup3(fd, NUMBER, O_CLOEXEC);
    close(fd);
    assert_false(own_file_loads(environment));
    assert_int_equal(fcntl(NUMBER, F_GETFD), FD_CLOEXEC);
}

static void
remove__alone__list_is_empty(void **state)
{
    char *const environment[] = {path_variable, asks, NULL};
    char memory[200];
    char *const *copy;

    (void)state;
    assert_true(own_file_remove_bytes(environment) <= sizeof(memory));
    copy = own_file_remove(environment, memory);
    assert_string_equal(copy[0], "PATH=/bin");
    assert_string_equal(copy[1], "LD_PRELOAD=");
    assert_null(copy[2]);
    assert_string_equal(asks, "LD_PRELOAD=" NAME);
}

static void
remove__between_others__these_stay(void **state)
{
    char *const environment[] = {asks_others, path_variable, NULL};
    char memory[200];
    char *const *copy;

    (void)state;
    assert_true(own_file_remove_bytes(environment) <= sizeof(memory));
    copy = own_file_remove(environment, memory);
    assert_string_equal(copy[0], "LD_PRELOAD=first.so:last.so");
    assert_string_equal(copy[1], "PATH=/bin");
    assert_null(copy[2]);
}

static void
remove__too_many_for_a_small_stack__none(void **state)
{
    static char *environment[20001];

    (void)state;
    for (size_t i = 0; i < 20000; i++) {
        environment[i] = path_variable;
    }
    environment[19999] = asks;
    assert_int_equal(own_file_remove_bytes(environment), 0);
}

static void
own_environment__cannot_load__object_is_taken_out(void **state)
{
    (void)state;
    assert_true(own_file_check_own_environment());
    assert_string_equal(getenv("LD_PRELOAD"), NAME ":last.so");
    close(NUMBER);
    close(COMMANDS);
    assert_false(own_file_check_own_environment());
    assert_string_equal(getenv("LD_PRELOAD"), "last.so");
}

#define WITH_OBJECT(test) cmocka_unit_test_setup_teardown(test, begin, finish)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(object__is_an_installed_file__environments_stay),
        cmocka_unit_test(object__name_is_unknown__environment_is_believed),
        WITH_OBJECT(object__is_open__loads),
        WITH_OBJECT(object__would_be_closed_by_exec__loads),
        WITH_OBJECT(object__was_closed__opened_again),
        WITH_OBJECT(object__was_closed_and_environment_asks_for_none__stays_closed),
        WITH_OBJECT(object__command_has_another_file__does_not_load),
        WITH_OBJECT(object__command_closes_it_meanwhile__what_is_opened_is_closed),
        WITH_OBJECT(
            object__program_opens_the_number_meanwhile__that_is_kept_and_not_loaded),
        WITH_OBJECT(object__number_is_the_only_free_one__opened_again),
        WITH_OBJECT(object__number_is_of_another_file__that_is_kept_and_not_loaded),
        WITH_OBJECT(remove__alone__list_is_empty),
        WITH_OBJECT(remove__between_others__these_stay),
        WITH_OBJECT(remove__too_many_for_a_small_stack__none),
        WITH_OBJECT(own_environment__cannot_load__object_is_taken_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
