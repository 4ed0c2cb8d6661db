/* SPDX-License-Identifier: MIT */
/*
 * never_fire.c - makes the program it is linked or preloaded into see a virtual machine
 * without debug registers: breakpoints open, and never fire.
 *
 * It stands in for syscall(), through which perf_event_open is called: an event of a
 * breakpoint in user space is opened at an address that nothing executes.
 */
#include "never_fire.h"

#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In the page at 0 and those after it nothing can be mapped (vm.mmap_min_addr). */
enum { NEVER_EXECUTED = 8 };

bool never_fire = true;

static bool
is_user_breakpoint(const struct perf_event_attr *attr)
{
    return attr->size >= offsetof(struct perf_event_attr, bp_len) + sizeof(uint64_t) &&
           attr->size <= sizeof(*attr) && attr->type == PERF_TYPE_BREAKPOINT &&
           attr->bp_addr <= INTPTR_MAX;
}

/* It reads more words than most calls have, which AddressSanitizer would report. */
__attribute__((no_sanitize_address)) long
syscall(long number, ...)
{
    static void *found; /* the C library's syscall */
    long (*next)(long number, ...);
    long words[6]; /* the call's own and, as in the C library, what lies behind them */
    va_list arguments;

    va_start(arguments, number);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        words[i] = va_arg(arguments, long);
    }
    va_end(arguments);
    if (__atomic_load_n(&found, __ATOMIC_RELAXED) == NULL) {
        __atomic_store_n(&found, dlsym(RTLD_NEXT, "syscall"), __ATOMIC_RELAXED);
    }
    memcpy(&next, &found, sizeof(next));
    if (never_fire && number == SYS_perf_event_open) {
        const struct perf_event_attr *const wanted = (const void *)words[0];
        struct perf_event_attr attr;

        if (wanted != NULL && is_user_breakpoint(wanted)) {
            memset(&attr, 0, sizeof(attr));
            memcpy(&attr, wanted, wanted->size);
            attr.bp_addr = NEVER_EXECUTED;
            return next(number, &attr, words[1], words[2], words[3], words[4]);
        }
    }
    return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
