/* SPDX-License-Identifier: MIT */
/* event.c - opening an event on any processor that is online; the processors' limit. */
#include "cmocka_all.h"

#include "hal/linux/event.h"
#include "hal/linux/stack.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTOR = 1000000 }; /* not one of this process */
enum { PROCESSORS = 8 };

/* A machine: what perf_event_open and sched_getaffinity answer, and cpu/possible. */
static struct machine {
    int first_online; /* processors below it are offline */
    int error;        /* of those that are online; 0: the event opens */
    int calls;
    int last_processor;
    long mask_bytes;
    struct perf_event_attr last_attr;
    const char *possible; /* NULL: there is no such file */
} machine;

long __wrap_syscall(long number, ...);
FILE *__wrap_fopen64(const char *path, const char *mode);
FILE *__real_fopen64(const char *path, const char *mode);

FILE *
__wrap_fopen64(const char *path, const char *mode)
{
    if (strcmp(path, "/sys/devices/system/cpu/possible") != 0) {
        return __real_fopen64(path, mode);
    }
    return machine.possible == NULL
               ? NULL
               : fmemopen((void *)machine.possible, strlen(machine.possible), "r");
}

long
__wrap_syscall(long number, ...)
{
    va_list arguments;

    if (number == SYS_sched_getaffinity) {
        return machine.mask_bytes;
    }
    assert_int_equal(number, SYS_perf_event_open);
    va_start(arguments, number);
    machine.last_attr = *va_arg(arguments, struct perf_event_attr *);
    (void)va_arg(arguments, int);
    machine.last_processor = va_arg(arguments, int);
    va_end(arguments);
    machine.calls++;
    errno = machine.last_processor >= PROCESSORS            ? EINVAL
            : machine.last_processor < machine.first_online ? ENODEV
                                                            : machine.error;
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
any_online__none_is__stops_after_the_last(void **state)
{
    (void)state;
    machine = (struct machine){.first_online = PROCESSORS};
    assert_int_equal(open_on(PERF_ANY_ONLINE), -EINVAL);
    assert_int_equal(machine.calls, PROCESSORS + 1);
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

/* ---- attributes ---- */

static const struct perf_features no_features;

static const struct perf_event_attr *
attr_of(const struct perf_event_request *request, const struct perf_features *features)
{
    machine = (struct machine){0};
    assert_int_equal(perf_event_open_fd(request, features, 1, 0), DESCRIPTOR);
    return &machine.last_attr;
}

/* rule: stack-sources */
static void
attr__no_stacks_asked__without_any_of_them(void **state)
{
    static const struct perf_features registers = {.user_registers = true};
    const struct perf_event_request request = {.kernel = true, .chain_depth = 127};
    const struct perf_event_attr *attr = attr_of(&request, &no_features);
    const uint64_t plain =
        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;

    (void)state;
    assert_int_equal(attr->sample_type, plain);
    assert_int_equal(attr->sample_regs_user, 0);
    assert_int_equal(attr->sample_stack_user, 0);
    assert_int_equal(attr->sample_max_stack, 0);
    assert_int_equal(attr->exclude_callchain_user, 0);
    assert_false(perf_event_layout(&request, &no_features).stack);
    attr = attr_of(&request, &registers);
    assert_int_equal(attr->sample_type, plain | PERF_SAMPLE_REGS_USER);
    assert_int_equal(attr->sample_stack_user, 0);
}

/* rules: stack-copy, stack-kernel */
static void
attr__stacks_asked__the_chain_with_kernel_mode_alone(void **state)
{
    (void)state;
    for (int kernel = 0; kernel < 2; kernel++) {
        const struct perf_event_request request = {
            .kernel = kernel, .stack_bytes = 4096, .chain_depth = 100};
        const struct perf_event_attr *const attr = attr_of(&request, &no_features);
        const struct perf_sample_layout layout =
            perf_event_layout(&request, &no_features);

        assert_int_equal(attr->sample_type & ~(uint64_t)PERF_SAMPLE_LAYOUT,
                         PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
                             (kernel ? PERF_SAMPLE_CALLCHAIN : 0));
        assert_int_equal(attr->sample_regs_user, perf_stack_register_mask());
        assert_int_equal(attr->sample_stack_user, 4096);
        assert_int_equal(attr->exclude_callchain_user, kernel);
        assert_int_equal(attr->sample_max_stack, kernel ? 100 : 0);
        assert_true(layout.stack && layout.chain == kernel);
        assert_int_equal(layout.registers, PERF_STACK_REGISTERS);
    }
}

static uint32_t
limit_of(const char *possible, long mask_bytes)
{
    machine = (struct machine){.possible = possible, .mask_bytes = mask_bytes};
    return perf_processor_limit();
}

static void
limit__kernel_lists_them__last_number_plus_1(void **state)
{
    (void)state;
    assert_int_equal(limit_of("0-7\n", 8), 8);
    assert_int_equal(limit_of("0\n", 8), 1);
    assert_int_equal(limit_of("0-3,8-11\n", 8), 12);
    assert_int_equal(limit_of("0,64\n", 16), 65);
}

static void
limit__no_list__bits_of_the_mask(void **state)
{
    (void)state;
    assert_int_equal(limit_of(NULL, 16), 128);
    assert_int_equal(limit_of("\n", 16), 128);
    assert_int_equal(limit_of("none", 16), 128);
}

static void
limit__nothing_plausible__65536(void **state)
{
    (void)state;
    assert_int_equal(limit_of(NULL, -1), 65536);
    assert_int_equal(limit_of("0-99999999\n", 8), 65536);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_online__first_is_online__opens_there),
        cmocka_unit_test(any_online__only_last_is_online__opens_there),
        cmocka_unit_test(any_online__none_is__stops_after_the_last),
        cmocka_unit_test(any_online__refused_otherwise__not_tried_elsewhere),
        cmocka_unit_test(one_processor__offline__not_tried_elsewhere),
        cmocka_unit_test(attr__no_stacks_asked__without_any_of_them),
        cmocka_unit_test(attr__stacks_asked__the_chain_with_kernel_mode_alone),
        cmocka_unit_test(limit__kernel_lists_them__last_number_plus_1),
        cmocka_unit_test(limit__no_list__bits_of_the_mask),
        cmocka_unit_test(limit__nothing_plausible__65536),
    };

    return cmocka_run_group_tests_name("linux event", tests, NULL, NULL);
}
