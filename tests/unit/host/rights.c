/* SPDX-License-Identifier: MIT */
/* Rights, compared with what perf_event_open says to a real event of the same kind. */
#include "fixture.h"

#include <linux/perf_event.h>

static bool
can_open(pid_t pid, int cpu, bool kernel)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = 1000000,
        .sample_type = PERF_SAMPLE_IP,
        .disabled = 1,
        .exclude_kernel = !kernel,
        .exclude_hv = 1,
    };
    const long event = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, 0);

    if (event >= 0) {
        close((int)event);
    }
    return event >= 0;
}

static bool
is_restricted(void)
{
    return host.Table->CheckRestrictedCaller(
               host.Context, HOST_RESTRICTED_BY_ACCESS_CHECK) == STATUS_ACCESS_DENIED;
}

static int
compare(void *argument)
{
    const bool *drop = argument;

    if (*drop && drop_rights()) {
        return 1;
    }
    if (NT_SUCCESS(host.Table->CheckSystemProfilePrivilege(host.Context)) !=
        can_open(-1, 0, false)) {
        return 2;
    }
    return is_restricted() == !can_open(0, -1, true) ? 0 : 3;
}

static void
rights__as_we_are_and_as_ordinary_user__as_real_events(void **state)
{
    bool drop = false;

    (void)state;
    assert_child_returns_0(compare, &drop);
    drop = true;
    assert_child_returns_0(compare, &drop);
}

static int
ask_ordinary_user(void *argument)
{
    const int *paranoid = argument;

    if (drop_rights()) {
        return 1;
    }
    if (NT_SUCCESS(host.Table->CheckSystemProfilePrivilege(host.Context)) &&
        *paranoid > 0) {
        return 2;
    }
    return is_restricted() || *paranoid < 2 ? 0 : 3;
}

static void
rights__ordinary_user__by_perf_event_paranoid(void **state)
{
    char text[16];
    int paranoid;

    (void)state;
    if (host_file_read("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text)) <
        0) {
        skip(); /* a kernel without perf events */
    }
    paranoid = atoi(text);
    assert_child_returns_0(ask_ordinary_user, &paranoid);
}

static int
ask_in_sandbox(void *argument)
{
    const unsigned int *error = argument;

    if (refuse_call(SYS_perf_event_open, *error)) {
        return 1;
    }
    return !NT_SUCCESS(host.Table->CheckSystemProfilePrivilege(host.Context)) &&
                   is_restricted()
               ? 0
               : 2;
}

static void
rights__perf_events_refused__none(void **state)
{
    static unsigned int errors[] = {ENOSYS, EPERM, EACCES};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_child_returns_0(ask_in_sandbox, &errors[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        host_test(rights__as_we_are_and_as_ordinary_user__as_real_events),
        host_test(rights__ordinary_user__by_perf_event_paranoid),
        host_test(rights__perf_events_refused__none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
