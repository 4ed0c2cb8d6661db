/* SPDX-License-Identifier: MIT */
/* breakpoints.c - counts calls of a function by a breakpoint of the kernel's. */
#include "breakpoints.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

__attribute__((noinline)) static void
called(void)
{
    __asm__ volatile("" ::: "memory");
}

static bool
try_breakpoint(void)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_BREAKPOINT,
        .bp_type = HW_BREAKPOINT_X,
        .bp_addr = (uintptr_t)called,
        .bp_len = sizeof(long),
        .sample_period = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    const char *const wanted = getenv("NTPROF_TEST_BREAKPOINTS");
    uint64_t count = 0;
    long fd;

    if (wanted != NULL && strcmp(wanted, "never") == 0) {
        return false;
    }
    fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    called();
    if (read((int)fd, &count, sizeof(count)) != (ssize_t)sizeof(count)) {
        count = 0;
    }
    close((int)fd);
    return count != 0;
}

/* Tried once: later there may be no descriptor for it. */
bool
breakpoints_fire(void)
{
    static int answer = -1;

    if (answer < 0) {
        answer = try_breakpoint();
    }
    return answer != 0;
}

void
need_breakpoints(void)
{
    if (!breakpoints_fire()) {
        print_message("breakpoints do not fire here\n");
        skip();
    }
}
