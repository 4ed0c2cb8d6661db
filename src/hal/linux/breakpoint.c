/* SPDX-License-Identifier: MIT */
/* hal/linux/breakpoint.c - tries whether breakpoints fire. */
#include "hal/linux/breakpoint.h"

#include "hal/linux/source.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS = 4 }; /* how often a try runs into its breakpoint */

/* Does nothing: the breakpoint is at its first instruction. */
__attribute__((noinline)) static void
breakpoint_here(void)
{
    __asm__ volatile("" ::: "memory");
}

/* Test whether a breakpoint fires. Returns false only if its event was opened but
 * counted nothing. */
static bool
try_breakpoint(void)
{
    const struct perf_source source = {
        .type = PERF_TYPE_BREAKPOINT,
        .interval = 1,
        .breakpoint_address = (uint64_t)(uintptr_t)breakpoint_here,
    };
    struct perf_event_attr attr = {
        .size = sizeof(attr), .exclude_kernel = 1, .exclude_hv = 1};
    uint64_t count;
    bool fires;
    int fd;

    perf_source_attr(&source, &attr);
    fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        return true;
    }
    for (int i = 0; i < CALLS; i++) {
        breakpoint_here();
    }
    /* A count that cannot be read proves nothing. */
    fires = read(fd, &count, sizeof(count)) != (ssize_t)sizeof(count) || count != 0;
    close(fd);
    return fires;
}

bool
perf_breakpoints_fire(struct perf_breakpoints *breakpoints)
{
    if (!breakpoints->tried) {
        breakpoints->tried = true;
        breakpoints->never_fire = !try_breakpoint();
    }
    return !breakpoints->never_fire;
}
