/* SPDX-License-Identifier: MIT */
/* event.c - opening an event on any processor that is online. */
#include "cmocka_all.h"

#include "hal/linux/event.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTOR = 1000000 }; /* not one of this process */
enum { PROCESSORS = 8 };

/* A machine: what perf_event_open answers. */
static struct machine {
    int first_online; /* processors below it are offline */
    int error;        /* of those that are online; 0: the event opens */
    int calls;
    int last_processor;
} machine;

long __wrap_syscall(long number, ...);
long __wrap_sysconf(int name);
long __real_sysconf(int name);

long
__wrap_sysconf(int name)
{
    return name == _SC_NPROCESSORS_CONF ? PROCESSORS : __real_sysconf(name);
}

long
__wrap_syscall(long number, ...)
{
    va_list arguments;

    assert_int_equal(number, SYS_perf_event_open);
    va_start(arguments, number);
    (void)va_arg(arguments, struct perf_event_attr *);
    (void)va_arg(arguments, int);
    machine.last_processor = va_arg(arguments, int);
    va_end(arguments);
    machine.calls++;
    errno = machine.last_processor < machine.first_online ? ENODEV : machine.error;
    return errno == 0 ? DESCRIPTOR : -1;
}

static int
open_on(int processor)
{
    struct perf_event_attr attr = {.size = sizeof(attr)};

    return perf_call_event_open(&attr, -1, processor, false);
}

static void
any_online__first_is_online__opens_there(void **state)
{
    (void)state;
    machine = (struct machine){0};
    assert_int_equal(open_on(PERF_ANY_ONLINE), DESCRIPTOR);
    assert_int_equal(machine.calls, 1);
    assert_int_equal(machine.last_processor, 0);
}

/* It was refused once: only processors 0 and 1 were tried. */
static void
any_online__only_last_is_online__opens_there(void **state)
{
    const int last = PROCESSORS - 1;

    (void)state;
    machine = (struct machine){.first_online = last};
    assert_int_equal(open_on(PERF_ANY_ONLINE), DESCRIPTOR);
    assert_int_equal(machine.calls, last + 1);
    assert_int_equal(machine.last_processor, last);
}

static void
any_online__none_is__refused(void **state)
{
    (void)state;
    machine = (struct machine){.first_online = PROCESSORS};
    assert_int_equal(open_on(PERF_ANY_ONLINE), -ENODEV);
    assert_int_equal(machine.calls, PROCESSORS);
}

static void
any_online__refused_otherwise__not_tried_elsewhere(void **state)
{
    (void)state;
    machine = (struct machine){.error = EACCES};
    assert_int_equal(open_on(PERF_ANY_ONLINE), -EACCES);
    assert_int_equal(machine.calls, 1);
}

static void
one_processor__offline__not_tried_elsewhere(void **state)
{
    (void)state;
    machine = (struct machine){.first_online = 1};
    assert_int_equal(open_on(0), -ENODEV);
    assert_int_equal(machine.calls, 1);
    assert_int_equal(open_on(-1), -ENODEV);
    assert_int_equal(machine.last_processor, -1);
    assert_int_equal(machine.calls, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_online__first_is_online__opens_there),
        cmocka_unit_test(any_online__only_last_is_online__opens_there),
        cmocka_unit_test(any_online__none_is__refused),
        cmocka_unit_test(any_online__refused_otherwise__not_tried_elsewhere),
        cmocka_unit_test(one_processor__offline__not_tried_elsewhere),
    };

    return cmocka_run_group_tests_name("linux event", tests, NULL, NULL);
}
