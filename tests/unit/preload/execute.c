/* SPDX-License-Identifier: MIT */
/*
 * execute.c - a child of posix_spawn that closes descriptors keeps the preload object,
 * and only that.
 */
#include "preload/preload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUMBER = 200, BEFORE = 199, AFTER = 201 };

/* Declared here, because not each libc does. */
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions,
                                             int from);

/* ---- What execute.c calls of the object ---- */

bool
preload_find(const char *name, void *pointer)
{
    void *const symbol = dlsym(RTLD_NEXT, name);

    memcpy(pointer, &symbol, sizeof(symbol));
    return symbol != NULL;
}

uint32_t
preload_begin_exec(void)
{
    return 0;
}

void
preload_end_exec(uint32_t process)
{
    assert_int_equal(process, 0);
}

void
preload_record_spawned(pid_t pid)
{
    assert_true(pid > 0);
}

void
preload_record_unloaded(void)
{
    fail();
}

void
record_put_command_path(char path[RECORD_PATH_BYTES], unsigned fd)
{
    snprintf(path, RECORD_PATH_BYTES, "/proc/none/fd/%u", fd);
}

/* ---- Tests ---- */

static int
begin(void **state)
{
    const int fd = memfd_create("object", MFD_CLOEXEC);

    (void)state;
    dup2(fd, NUMBER);
    dup2(STDERR_FILENO, BEFORE);
    dup2(STDERR_FILENO, AFTER);
    close(fd);
    setenv("LD_PRELOAD", "/proc/self/fd/200", 1);
    own_file_begin();
    return 0;
}

static int
finish(void **state)
{
    (void)state;
    close(BEFORE);
    close(NUMBER);
    close(AFTER);
    unsetenv("LD_PRELOAD");
    return 0;
}

static void
need_closefrom(void)
{
    void *function;

    if (!preload_find("posix_spawn_file_actions_addclosefrom_np", &function)) {
        skip(); /* an old libc */
    }
}

/* What a child does before it executes a program: its output goes to a file. */
static posix_spawn_file_actions_t
begin_actions(int said)
{
    posix_spawn_file_actions_t actions;

    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, said, 1), 0);
    return actions;
}

/* Have a child close a descriptor, or all from one on, and print which it has. */
static void
assert_child_has(int (*close_in_child)(posix_spawn_file_actions_t *, int), int fd,
                 const char *wanted)
{
    static char script[] = "for fd in 3 4 199 200 201; do "
                           "[ ! -e /proc/$$/fd/$fd ] || printf '%s ' $fd; done";
    char *const words[] = {(char[]){"sh"}, (char[]){"-c"}, script, NULL};
    char *const environment[] = {NULL};
    const int said = memfd_create("said", MFD_CLOEXEC);
    posix_spawn_file_actions_t actions = begin_actions(said);
    char text[100] = "";
    pid_t child;
    int status;

    assert_int_equal(close_in_child(&actions, fd), 0);
    assert_int_equal(posix_spawn(&child, "/bin/sh", &actions, NULL, words, environment),
                     0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(pread(said, text, sizeof(text) - 1, 0) >= 0);
    assert_string_equal(text, wanted);
    posix_spawn_file_actions_destroy(&actions);
    close(said);
}

static void
child__closes_the_object__keeps_it(void **state)
{
    (void)state;
    assert_child_has(posix_spawn_file_actions_addclose, NUMBER, "199 200 201 ");
}

static void
child__closes_another__it_is_closed(void **state)
{
    (void)state;
    assert_child_has(posix_spawn_file_actions_addclose, BEFORE, "200 201 ");
}

/* As Python's subprocess does. */
static void
child__closes_all__keeps_the_object(void **state)
{
    need_closefrom();
    (void)state;
    assert_child_has(posix_spawn_file_actions_addclosefrom_np, 3, "200 ");
}

static void
child__closes_all_from_the_object_on__keeps_the_object(void **state)
{
    need_closefrom();
    (void)state;
    assert_child_has(posix_spawn_file_actions_addclosefrom_np, NUMBER, "199 200 ");
}

static void
child__closes_all_after_the_object__these_are_closed(void **state)
{
    need_closefrom();
    (void)state;
    assert_child_has(posix_spawn_file_actions_addclosefrom_np, AFTER, "199 200 ");
}

static void
child__closes_all_and_number_is_of_another_file__that_is_closed(void **state)
{
    need_closefrom();
    (void)state;
    dup2(STDERR_FILENO, NUMBER);
    assert_child_has(posix_spawn_file_actions_addclosefrom_np, 3, "");
}

static void
child__closes_all_and_object_is_not_open__starts(void **state)
{
    need_closefrom();
    (void)state;
    close(NUMBER);
    assert_child_has(posix_spawn_file_actions_addclosefrom_np, 3, "");
}

#define WITH_OBJECT(test) cmocka_unit_test_setup_teardown(test, begin, finish)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_OBJECT(child__closes_the_object__keeps_it),
        WITH_OBJECT(child__closes_another__it_is_closed),
        WITH_OBJECT(child__closes_all__keeps_the_object),
        WITH_OBJECT(child__closes_all_from_the_object_on__keeps_the_object),
        WITH_OBJECT(child__closes_all_after_the_object__these_are_closed),
        WITH_OBJECT(child__closes_all_and_number_is_of_another_file__that_is_closed),
        WITH_OBJECT(child__closes_all_and_object_is_not_open__starts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
