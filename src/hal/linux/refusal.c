/* SPDX-License-Identifier: MIT */
/* hal/linux/refusal.c - makes a sentence from errno, settings and rights. */
#include "hal/linux/refusal.h"

#include "hal/linux/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { CAPABILITY_SYS_ADMIN = 21, CAPABILITY_PERFMON = 38 };

/* Return a number from /proc/self/status; fallback if the key is missing. */
static uint64_t
status_number(const char *key, int base, uint64_t fallback)
{
    FILE *file = fopen("/proc/self/status", "re");
    const size_t length = strlen(key);
    uint64_t value = fallback;
    char line[256];

    if (file == NULL) {
        return fallback;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, key, length) == 0 && line[length] == ':') {
            value = strtoull(line + length + 1, NULL, base);
            break;
        }
    }
    fclose(file);
    return value;
}

bool
perf_refusal_holds(unsigned capability)
{
    const uint64_t effective = status_number("CapEff", 16, 0);

    return (effective >> CAPABILITY_SYS_ADMIN & 1) != 0 ||
           (effective >> capability & 1) != 0;
}

/* Does it hold the capability, though perhaps in a user namespace only? */
static bool
has_capability(void)
{
    return perf_refusal_holds(CAPABILITY_PERFMON);
}

/* Only the first user namespace maps every user to itself. */
bool
perf_refusal_is_first_namespace(void)
{
    FILE *file = fopen("/proc/self/uid_map", "re");
    unsigned long long inside = 0;
    unsigned long long outside = 0;
    unsigned long long count = 0;
    int read;

    if (file == NULL) {
        return true; /* a kernel without user namespaces */
    }
    read = fscanf(file, "%llu %llu %llu", &inside, &outside, &count);
    fclose(file);
    return read == 3 && inside == 0 && outside == 0 && count == UINT32_MAX;
}

bool
perf_refusal_is_filtered(void)
{
    return status_number("Seccomp", 10, 0) == 2;
}

bool
perf_refusal_can_monitor(void)
{
    return has_capability() && perf_refusal_is_first_namespace();
}

/* Return the highest kernel.perf_event_paranoid that allows it without capabilities. */
static long
paranoid_allowed(enum perf_scope scope)
{
    switch (scope) {
    case PERF_SCOPE_ALL:
        return 0;
    case PERF_SCOPE_KERNEL:
        return 1;
    default:
        return 2;
    }
}

struct words {
    char *reason;
    size_t reason_bytes;
    char *remedy;
    size_t remedy_bytes;
};

static void
say(const struct words *words, const char *reason, const char *remedy)
{
    snprintf(words->reason, words->reason_bytes, "%s", reason);
    snprintf(words->remedy, words->remedy_bytes, "%s", remedy);
}

static void
explain_denied(enum perf_scope scope, const struct words *words)
{
    const long paranoid = perf_procfs_setting("kernel/perf_event_paranoid", 2);
    const long allowed = paranoid_allowed(scope);

    if (paranoid > allowed && !perf_refusal_can_monitor()) {
        snprintf(words->reason, words->reason_bytes,
                 "kernel.perf_event_paranoid is %ld and the caller %s", paranoid,
                 has_capability() ? "has CAP_PERFMON in a user namespace only"
                                  : "lacks CAP_PERFMON");
        snprintf(words->remedy, words->remedy_bytes,
                 "set kernel.perf_event_paranoid to %ld, or %s", allowed,
                 has_capability() ? "run outside of the namespace with CAP_PERFMON"
                                  : "grant CAP_PERFMON");
    } else if (perf_refusal_is_filtered()) {
        say(words, "a seccomp filter refuses perf_event_open, as containers often do",
            "allow perf_event_open in the container's seccomp profile");
    } else if (scope == PERF_SCOPE_PROCESS) {
        say(words, "the process is another user's, or may not be traced by the caller",
            "run as that user, or grant CAP_PERFMON and CAP_SYS_PTRACE");
    } else {
        say(words, "the kernel denies it although settings and rights allow it",
            "look for a security module's denial in the kernel's log");
    }
}

static void
explain_ring(const struct words *words)
{
    snprintf(words->reason, words->reason_bytes,
             "ring memory above kernel.perf_event_mlock_kb (%ld kB for each processor, "
             "shared by all of the user's programs)",
             perf_procfs_setting("kernel/perf_event_mlock_kb", 0));
    snprintf(
        words->remedy, words->remedy_bytes,
        "raise kernel.perf_event_mlock_kb or RLIMIT_MEMLOCK, or end other profilers");
}

static void
explain_descriptors(const struct words *words)
{
    struct rlimit limit = {0};

    getrlimit(RLIMIT_NOFILE, &limit);
    snprintf(
        words->reason, words->reason_bytes,
        "out of file descriptors: each thread takes one for each processor and source, "
        "and RLIMIT_NOFILE is %llu",
        (unsigned long long)limit.rlim_cur);
    snprintf(words->remedy, words->remedy_bytes,
             "raise the limit on open files (ulimit -n), or choose fewer processors");
}

void
perf_refusal_explain(int error, enum perf_scope scope, char *reason,
                     size_t reason_bytes, char *remedy, size_t remedy_bytes)
{
    const struct words words = {reason, reason_bytes, remedy, remedy_bytes};

    switch (-error) {
    case EACCES:
    case EPERM:
        if (scope == PERF_SCOPE_RING) {
            explain_ring(&words);
        } else {
            explain_denied(scope, &words);
        }
        break;
    case EMFILE:
        explain_descriptors(&words);
        break;
    case ENFILE:
        say(&words, "the system is out of file descriptors", "raise fs.file-max");
        break;
    case ENOSYS:
        say(&words,
            "perf_event_open is not available: the kernel lacks CONFIG_PERF_EVENTS, or "
            "a seccomp filter hides the call",
            "allow perf_event_open in the container's seccomp profile, or use a kernel "
            "that has it");
        break;
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        say(&words, "this machine has no PMU that counts it (virtual machine?)",
            "run on the machine itself, or give the virtual machine a PMU");
        break;
    case EBUSY:
        say(&words, "another program has the counter for itself alone",
            "end what uses it, such as another profiler or a watchdog");
        break;
    case EBADF:
        say(&words, "the cgroup is not one that events know",
            "choose a cgroup of version 2, or, with version 1, a cgroup of the "
            "hierarchy "
            "that has the perf_event controller");
        break;
    case ENOSPC:
        say(&words, "all breakpoint registers are taken",
            "use fewer breakpoints at a time");
        break;
    case EAGAIN:
        say(&words, "threads are being created in it",
            "stop the process meanwhile (kill -STOP), or use uprobe instead of "
            "breakpoint");
        break;
    case ESRCH:
        say(&words, "the process is gone", "");
        break;
    case ENOMEM:
        say(&words, "out of memory", "");
        break;
    default:
        say(&words, strerror(-error), "");
        break;
    }
}
