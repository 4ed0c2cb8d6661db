/* SPDX-License-Identifier: MIT */
/*
 * host/linux/rights.c - what the caller may measure. Capabilities, sysctls, security
 * modules and sandboxes all have a say, so the kernel is asked by trying; nothing is
 * remembered, because a program may drop rights at any time.
 */
#include "host/linux/linuxp.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int
host_event_open(pid_t pid, int cpu, bool kernel)
{
    struct perf_event_attr attr;
    long descriptor;

    memset(&attr, 0, sizeof(attr));
    attr.type = PERF_TYPE_SOFTWARE;
    attr.size = sizeof(attr);
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.disabled = 1;
    attr.exclude_kernel = kernel ? 0 : 1;
    attr.exclude_hv = 1;
    descriptor =
        syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0) {
        return -errno;
    }
    close((int)descriptor);
    return 0;
}

/* Convert a result of host_event_open to a status, and remember a refusal (what) for
 * the error text: refused for every error but that descriptors or memory ran out. */
static NTSTATUS
rights_status(void *Context, int what, int error, NTSTATUS refused)
{
    if (error == 0) {
        return STATUS_SUCCESS;
    }
    return host_refuse(Context, what, 0 /* no subject */, error,
                       host_is_shortage(error) ? STATUS_INSUFFICIENT_RESOURCES
                                               : refused);
}

NTSTATUS
host_check_system_profile_privilege(void *Context)
{
    const int cpu = sched_getcpu();

    return rights_status(Context, HOST_REFUSED_PRIVILEGE,
                         host_event_open(-1, cpu < 0 ? 0 : cpu, /* kernel */ false),
                         STATUS_PRIVILEGE_NOT_HELD);
}

NTSTATUS
host_check_restricted_caller(void *Context, ULONG Rule)
{
    (void)Rule; /* NT's; here Linux's own decides, whatever the version */
    return rights_status(Context, HOST_REFUSED_KERNEL,
                         host_event_open(0, -1, /* kernel */ true),
                         STATUS_ACCESS_DENIED);
}
