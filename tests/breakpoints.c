/* SPDX-License-Identifier: MIT */
/* breakpoints.c - counts calls of a function by a breakpoint of the kernel's. */
#include "breakpoints.h"

#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
    uint64_t count = 0;
    long fd;

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

uint64_t
code_offset(uint64_t address)
{
    FILE *const maps = fopen("/proc/self/maps", "re");
    char line[4096];
    uint64_t found = 0;

    assert_non_null(maps);
    while (found == 0 && fgets(line, sizeof(line), maps) != NULL) {
        uint64_t begin;
        uint64_t end;
        uint64_t offset;

        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &begin, &end,
                   &offset) == 3 &&
            address >= begin && address < end) {
            found = address - begin + offset;
        }
    }
    fclose(maps);
    assert_int_not_equal(found, 0);
    return found;
}

void
name_exact_source(char *name, size_t size, uint64_t address)
{
    if (breakpoints_fire() || geteuid() != 0) {
        snprintf(name, size, "breakpoint:0x%" PRIx64, address);
    } else {
        snprintf(name, size, "uprobe:/proc/self/exe+0x%" PRIx64, code_offset(address));
    }
}
