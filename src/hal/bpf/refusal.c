/* SPDX-License-Identifier: MIT */
/* hal/bpf/refusal.c - from errno, settings and rights to a sentence. */
#include "hal/bpf/kernel.h"

#include "hal/linux/procfs.h"
#include "hal/linux/refusal.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

static void
say(struct bpf_refusal *refusal, const char *reason, const char *remedy)
{
    snprintf(refusal->reason, sizeof(refusal->reason), "%s", reason);
    snprintf(refusal->remedy, sizeof(refusal->remedy), "%s", remedy);
}

/* Says that a capability is missing or has no effect; false if the caller holds it
 * where it counts. */
static bool
explain_capability(unsigned capability, const char *name, struct bpf_refusal *refusal)
{
    char setting[64] = "";

    if (!perf_refusal_holds(capability)) {
        if (capability == CAP_BPF) {
            snprintf(setting, sizeof(setting),
                     " and kernel.unprivileged_bpf_disabled is %ld",
                     perf_procfs_setting("kernel/unprivileged_bpf_disabled", 0));
        }
        snprintf(refusal->reason, sizeof(refusal->reason), "the caller lacks %s%s",
                 name, setting);
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
    if (explain_capability(CAP_BPF, "CAP_BPF", refusal) ||
        (stage != BPF_STAGE_MAP &&
         explain_capability(CAP_PERFMON, "CAP_PERFMON", refusal))) {
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

/* The kernel is older, or was built without it. */
static void
explain_unable(int error, enum bpf_stage stage, struct bpf_refusal *refusal)
{
    const char *const why = strerror(-error);
    char *const reason = refusal->reason;
    const size_t bytes = sizeof(refusal->reason);

    switch (stage) {
    case BPF_STAGE_PROGRAM:
        snprintf(reason, bytes,
                 "the kernel's verifier refuses the program (%s)%s%.160s", why,
                 refusal->log[0] != 0 ? ": " : "", refusal->log);
        break;
    case BPF_STAGE_ATTACH:
        snprintf(
            reason, bytes,
            "the kernel cannot attach BPF programs to events (%s): it is older than "
            "5.15",
            why);
        break;
    case BPF_STAGE_TRACEPOINT:
        snprintf(reason, bytes,
                 "the kernel has no tracepoints of programs and their ends (%s)", why);
        break;
    default:
        snprintf(reason, bytes,
                 "the kernel lacks what the program needs (%s): it is older than 5.10",
                 why);
        break;
    }
    snprintf(refusal->remedy, sizeof(refusal->remedy),
             "use a kernel of 5.15 or later, or another back end");
}

void
bpf_refusal_explain(int error, enum bpf_stage stage, struct bpf_refusal *refusal)
{
    if (stage == BPF_STAGE_EVENT || error == -EMFILE || error == -ENFILE) {
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
            "bpf is not there: a kernel without CONFIG_BPF_SYSCALL, or hidden by a "
            "seccomp filter",
            "allow bpf in the container's seccomp profile, or use a kernel with it");
        break;
    case ENOMEM:
        say(refusal,
            "out of memory, or a control group's limit is reached: BPF maps count",
            "raise the control group's memory limit");
        break;
    case EBUSY:
        say(refusal, "another program uses the event or the program exclusively",
            "end other profilers and tracers, and try again");
        break;
    case EAGAIN:
        say(refusal, "signals interrupt the kernel's verifier again and again",
            "send the caller fewer signals while it opens a session");
        break;
    default:
        explain_unable(error, stage, refusal);
        break;
    }
}
