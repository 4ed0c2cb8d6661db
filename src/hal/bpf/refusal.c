/* SPDX-License-Identifier: MIT */
/* hal/bpf/refusal.c - from errno, settings and rights to a sentence. */
#include "hal/bpf/kernel.h"

#include "hal/linux/procfs.h"
#include "hal/linux/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { CAPABILITY_PERFMON = 38, CAPABILITY_BPF = 39 };

static void
say(struct bpf_refusal *refusal, const char *reason, const char *remedy)
{
    snprintf(refusal->reason, sizeof(refusal->reason), "%s", reason);
    snprintf(refusal->remedy, sizeof(refusal->remedy), "%s", remedy);
}

/* A capability is missing, or in vain. False if it is held where it counts. */
static bool
explain_capability(unsigned capability, const char *name, struct bpf_refusal *refusal)
{
    if (!perf_refusal_holds(capability)) {
        snprintf(refusal->reason, sizeof(refusal->reason), "the caller lacks %s", name);
        if (capability == CAPABILITY_BPF) {
            snprintf(refusal->reason, sizeof(refusal->reason),
                     "the caller lacks %s and kernel.unprivileged_bpf_disabled is %ld",
                     name, perf_procfs_setting("kernel/unprivileged_bpf_disabled", 0));
        }
        snprintf(refusal->remedy, sizeof(refusal->remedy),
                 "grant CAP_BPF and CAP_PERFMON");
        return true;
    }
    if (!perf_refusal_is_first_namespace()) {
        snprintf(refusal->reason, sizeof(refusal->reason),
                 "the caller has %s in a user namespace only", name);
        snprintf(refusal->remedy, sizeof(refusal->remedy),
                 "run outside of the namespace with CAP_BPF and CAP_PERFMON");
        return true;
    }
    return false;
}

static void
explain_denied(enum bpf_stage stage, struct bpf_refusal *refusal)
{
    if (explain_capability(CAPABILITY_BPF, "CAP_BPF", refusal) ||
        (stage != BPF_STAGE_MAP &&
         explain_capability(CAPABILITY_PERFMON, "CAP_PERFMON", refusal))) {
        return;
    }
    if (perf_refusal_is_filtered()) {
        say(refusal, "a seccomp filter refuses bpf, as containers often do",
            "allow bpf and perf_event_open in the container's seccomp profile");
    } else {
        say(refusal, "the kernel denies it although settings and rights allow it",
            "look for a security module's denial, or lockdown, in the kernel's log");
    }
}

static void
explain_descriptors(struct bpf_refusal *refusal)
{
    struct rlimit limit = {0};

    getrlimit(RLIMIT_NOFILE, &limit);
    snprintf(refusal->reason, sizeof(refusal->reason),
             "out of file descriptors: RLIMIT_NOFILE is %llu",
             (unsigned long long)limit.rlim_cur);
    snprintf(refusal->remedy, sizeof(refusal->remedy),
             "raise the limit on open files (ulimit -n)");
}

/* What the kernel cannot do: an older one, or one built without it. */
static void
explain_unable(int error, enum bpf_stage stage, struct bpf_refusal *refusal)
{
    const char *const newer = "use a kernel of 5.15 or later, or another back end";

    switch (stage) {
    case BPF_STAGE_MAP:
    case BPF_STAGE_MEMORY:
    case BPF_STAGE_TYPES:
        snprintf(refusal->reason, sizeof(refusal->reason),
                 "the kernel lacks what the program needs (%s): it is older "
                 "than 5.10",
                 strerror(-error));
        break;
    case BPF_STAGE_PROGRAM:
        snprintf(refusal->reason, sizeof(refusal->reason),
                 "the kernel's verifier refuses the program (%s)%s%.160s",
                 strerror(-error), refusal->log[0] != 0 ? ": " : "", refusal->log);
        break;
    case BPF_STAGE_ATTACH:
        snprintf(refusal->reason, sizeof(refusal->reason),
                 "the kernel does not attach programs to such events (%s): it is older "
                 "than 5.15",
                 strerror(-error));
        break;
    default:
        snprintf(refusal->reason, sizeof(refusal->reason),
                 "the kernel has no tracepoints of programs and their ends (%s)",
                 strerror(-error));
        break;
    }
    snprintf(refusal->remedy, sizeof(refusal->remedy), "%s", newer);
}

void
bpf_refusal_explain(int error, enum bpf_stage stage, struct bpf_refusal *refusal)
{
    if (stage == BPF_STAGE_EVENT) {
        perf_refusal_explain(error, PERF_SCOPE_ALL, refusal->reason,
                             sizeof(refusal->reason), refusal->remedy,
                             sizeof(refusal->remedy));
        return;
    }
    switch (-error) {
    case EPERM:
        explain_denied(stage, refusal);
        break;
    case ENOSYS:
        say(refusal,
            "bpf is not there: a kernel without CONFIG_BPF_SYSCALL, or a seccomp "
            "filter "
            "hides it",
            "allow bpf in the container's seccomp profile, or use a kernel that has "
            "it");
        break;
    case ENOMEM:
        say(refusal,
            "out of memory, or a control group's limit is reached: BPF maps count",
            "raise the control group's memory limit");
        break;
    case EBUSY:
        say(refusal, "another program has the event or the program for itself alone",
            "end other profilers and tracers, and try again");
        break;
    case EAGAIN:
        say(refusal, "signals interrupt the kernel's verifier again and again",
            "send the caller fewer signals while it opens a session");
        break;
    case EMFILE:
        explain_descriptors(refusal);
        break;
    case ENFILE:
        say(refusal, "the system is out of file descriptors", "raise fs.file-max");
        break;
    default:
        explain_unable(error, stage, refusal);
        break;
    }
}
