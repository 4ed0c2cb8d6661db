/* SPDX-License-Identifier: MIT */
/* hal/linux/refusal.c - makes a sentence from errno, settings and rights. */
#include "hal/linux/refusal.h"

#include "hal/linux/procfs.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Inode number of the first user namespace in every kernel since Linux 3.8
 * (PROC_USER_INIT_INO). */
static const ino_t first_user_namespace = 0xEFFFFFFD;

/* The kernel is asked, not /proc, which a container may hide. */
bool
perf_refusal_holds(unsigned capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3] = {0};

    (void)syscall(SYS_capget, &header, held);
    return (held[0].effective >> CAP_SYS_ADMIN & 1) != 0 ||
           (held[capability / 32].effective >> capability % 32 & 1) != 0;
}

bool
perf_refusal_is_first_namespace(void)
{
    struct stat file;

    return stat("/proc/self/ns/user", &file) != 0 || /* no user namespaces */
           file.st_ino == first_user_namespace;
}

bool
perf_refusal_is_filtered(void)
{
    return prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
}

/* Is perf_event_open refused before its arguments are looked at? The kernel itself
 * answers EINVAL to unknown flags, whatever the caller may do. */
static bool
is_call_refused(void)
{
    const struct perf_event_attr none = {0};

    return syscall(SYS_perf_event_open, &none, 0, -1, -1, ~0UL) < 0 && errno != EINVAL;
}

/* Is an event refused that Linux itself allows everybody at every
 * kernel.perf_event_paranoid: of the caller, in user mode? Kernels of distributions
 * refuse it above 2 to all but CAP_SYS_ADMIN. */
static bool
is_own_event_refused(void)
{
    const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof(attr),
                                         .config = PERF_COUNT_SW_DUMMY,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    const long file =
        syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

    if (file >= 0) {
        close((int)file);
    }
    return file < 0 && (errno == EACCES || errno == EPERM);
}

bool
perf_refusal_can_monitor(void)
{
    return perf_refusal_holds(CAP_PERFMON) && perf_refusal_is_first_namespace();
}

/* Return the highest kernel.perf_event_paranoid that allows a call for this without
 * capabilities. */
static long
paranoid_allowed(enum perf_scope scope)
{
    return scope == PERF_SCOPE_ALL ? 0 : scope == PERF_SCOPE_KERNEL ? 1 : 2;
}

void
perf_refusal_set(struct perf_refusal *refusal, uint32_t cause, const char *reason,
                 const char *remedy)
{
    refusal->cause = cause;
    snprintf(refusal->reason, sizeof(refusal->reason), "%s", reason);
    snprintf(refusal->remedy, sizeof(refusal->remedy), "%s", remedy);
}

void
perf_refusal_probed(const struct perf_refusal *refusal, HAL_PROBE *probed)
{
    probed->Error = (ULONG)-refusal->error;
    probed->Cause = refusal->cause;
    HalpCopyText(probed->Reason, sizeof(probed->Reason), refusal->reason);
    HalpCopyText(probed->Remedy, sizeof(probed->Remedy), refusal->remedy);
}

/* Causes that errno does not show; numbers above all of errno. */
enum { BY_PARANOID = 0x10000, BY_NAMESPACE, BY_FILTER, BY_KERNEL, BY_FILTER_OR_KERNEL };
enum {
    BY_OWNER = BY_FILTER_OR_KERNEL + 1,
    BY_SOMETHING,
    BY_MODULE,
    BY_RING_LIMIT,
    BY_THREADS,
    BY_LEVEL
};

#define NO_PMU "this machine has no PMU that counts it (virtual machine?)"
#define GIVE_PMU "run on the machine itself, or give the virtual machine a PMU"

/* Reason is a format of both numbers that look_up_text gets, remedy of the second. */
static const struct {
    int cause; /* errno or BY_... */
    uint32_t public_cause;
    const char *reason;
    const char *remedy;
} texts[] = {
    {BY_PARANOID, NTPROF_CAUSE_PARANOID,
     "kernel.perf_event_paranoid is %ld and the caller lacks CAP_PERFMON",
     "set kernel.perf_event_paranoid to %ld, or grant CAP_PERFMON"},
    {BY_LEVEL, NTPROF_CAUSE_PARANOID,
     "kernel.perf_event_paranoid is %ld and the caller lacks CAP_SYS_ADMIN: above 2, "
     "CAP_PERFMON is not enough on this kernel",
     "set kernel.perf_event_paranoid to %ld, or grant CAP_SYS_ADMIN"},
    {BY_NAMESPACE, NTPROF_CAUSE_NAMESPACE,
     "kernel.perf_event_paranoid is %ld and the caller has CAP_PERFMON in a user "
     "namespace only",
     "set kernel.perf_event_paranoid to %ld, or run in the initial user namespace with "
     "CAP_PERFMON"},
    {BY_FILTER, NTPROF_CAUSE_SECCOMP,
     "a seccomp filter refuses perf_event_open, as containers often do",
     "allow perf_event_open in the container's seccomp profile"},
    {BY_KERNEL, NTPROF_CAUSE_KERNEL,
     "the kernel has no perf_event_open: it lacks CONFIG_PERF_EVENTS, or is not Linux",
     "use a kernel with perf events"},
    {BY_FILTER_OR_KERNEL, NTPROF_CAUSE_OTHER,
     "a seccomp filter hides perf_event_open, or the kernel lacks it: without "
     "/proc/sys it is not known which",
     "allow perf_event_open in the container's seccomp profile"},
    {BY_OWNER, NTPROF_CAUSE_OWNER,
     "the process is another user's, or may not be traced by the caller",
     "run as that user, or grant CAP_PERFMON and CAP_SYS_PTRACE"},
    {BY_SOMETHING, NTPROF_CAUSE_OTHER,
     "refused by kernel.perf_event_paranoid (unreadable without /proc), or by a "
     "security module",
     "mount /proc to find out which, or grant CAP_PERFMON"},
    {BY_MODULE, NTPROF_CAUSE_OTHER,
     "the kernel denies it although settings and rights allow it",
     "look for a security module's denial in the kernel's log"},
    {BY_RING_LIMIT, NTPROF_CAUSE_LOCKED_MEMORY,
     "the rings need more memory than kernel.perf_event_mlock_kb (%ld kB for each "
     "processor, shared by all of the user's programs) and RLIMIT_MEMLOCK (%ld kB) "
     "allow",
     "raise kernel.perf_event_mlock_kb or RLIMIT_MEMLOCK, or end other profilers"},
    {EMFILE, NTPROF_CAUSE_DESCRIPTORS,
     "out of file descriptors: each watched thread takes one for each processor and "
     "source, and RLIMIT_NOFILE is %ld",
     "raise the limit on open files (ulimit -n), or choose fewer processors"},
    {ENFILE, NTPROF_CAUSE_DESCRIPTORS, "the system is out of file descriptors",
     "raise fs.file-max"},
    {ENOENT, NTPROF_CAUSE_MACHINE, NO_PMU, GIVE_PMU},
    {ENODEV, NTPROF_CAUSE_MACHINE, NO_PMU, GIVE_PMU},
    {EOPNOTSUPP, NTPROF_CAUSE_MACHINE, NO_PMU, GIVE_PMU},
    {EBUSY, NTPROF_CAUSE_BUSY, "another program has the counter for itself alone",
     "end what uses it, such as another profiler or a watchdog"},
    {EBADF, NTPROF_CAUSE_OTHER,
     "perf events cannot be limited to this cgroup: it has been removed, or its "
     "hierarchy has no perf_event controller",
     "choose a cgroup that exists, of version 2, or, with version 1, of the hierarchy "
     "that has the perf_event controller"},
    {ENOSPC, NTPROF_CAUSE_BUSY, "all breakpoint registers are taken",
     "use fewer breakpoints at a time"},
    {EAGAIN, NTPROF_CAUSE_BUSY, "threads are being created in it",
     "stop the process meanwhile (kill -STOP), or use uprobe instead of breakpoint"},
    {BY_THREADS, NTPROF_CAUSE_MEMORY, "too many processes or threads, or no memory",
     "raise RLIMIT_NPROC, RLIMIT_AS or the control group's pids.max"},
    {ESRCH, NTPROF_CAUSE_OTHER, "the process is gone", ""},
    {ENOMEM, NTPROF_CAUSE_MEMORY, "out of memory", ""},
};

/* Fill in the texts of a cause (errno or BY_...). first, second: settings or limits
 * that its formats print. */
static void
look_up_text(int cause, long first, long second, struct perf_refusal *refusal)
{
    perf_refusal_set(refusal, NTPROF_CAUSE_OTHER, strerror(cause), "");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].cause == cause) {
            refusal->cause = texts[i].public_cause;
            snprintf(refusal->reason, sizeof(refusal->reason), texts[i].reason, first,
                     second);
            snprintf(refusal->remedy, sizeof(refusal->remedy), texts[i].remedy, second);
        }
    }
}

static long
soft_limit(__rlimit_resource_t resource)
{
    struct rlimit limit = {0};

    getrlimit(resource, &limit);
    return (long)limit.rlim_cur;
}

/* Return what denies perf_event_open, BY_...; error is its positive errno, paranoid the
 * setting, or LONG_MIN if that is unknown. */
static int
cause_of_denial(int error, enum perf_scope scope, long paranoid)
{
    if (is_call_refused() || error == ENOSYS) {
        /* Only a kernel with perf events has the setting, so it was a filter. */
        return error != ENOSYS || paranoid != LONG_MIN ? BY_FILTER
               : perf_refusal_is_filtered()            ? BY_FILTER_OR_KERNEL
                                                       : BY_KERNEL;
    }
    if (paranoid > 2 && !perf_refusal_holds(CAP_SYS_ADMIN) && is_own_event_refused()) {
        return BY_LEVEL;
    }
    if (paranoid > paranoid_allowed(scope) && !perf_refusal_can_monitor()) {
        return perf_refusal_holds(CAP_PERFMON) ? BY_NAMESPACE : BY_PARANOID;
    }
    return scope == PERF_SCOPE_PROCESS ? BY_OWNER
           : paranoid == LONG_MIN      ? BY_SOMETHING
                                       : BY_MODULE;
}

void
perf_refusal_explain(int error, enum perf_scope scope, struct perf_refusal *refusal)
{
    const long paranoid = perf_procfs_setting("kernel/perf_event_paranoid", LONG_MIN);
    const bool denied = error == -EACCES || error == -EPERM || error == -ENOSYS;

    refusal->error = error;
    if (denied && scope == PERF_SCOPE_RING) {
        look_up_text(BY_RING_LIMIT,
                     perf_procfs_setting("kernel/perf_event_mlock_kb", 0),
                     soft_limit(RLIMIT_MEMLOCK) / 1024, refusal);
    } else if (denied) {
        look_up_text(cause_of_denial(-error, scope, paranoid), paranoid,
                     perf_refusal_can_monitor() ? 2 : paranoid_allowed(scope), refusal);
    } else {
        look_up_text(error == -EAGAIN && scope == PERF_SCOPE_SELF ? BY_THREADS : -error,
                     soft_limit(RLIMIT_NOFILE), 0, refusal);
    }
}
