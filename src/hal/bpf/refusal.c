/* SPDX-License-Identifier: MIT */
/* hal/bpf/refusal.c - says why bpf() was refused, from errno, settings and rights. */
#include "hal/bpf/kernel.h"

#include "hal/linux/procfs.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define NEWER_KERNEL "use a kernel of 5.15 or later, or another back end"

bool
bpf_refusal_is_by_age(const char *release)
{
    char *end;
    const unsigned long major = strtoul(release, &end, 10);
    const unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;

    return major != 0 && (major < 5 || (major == 5 && minor < 11));
}

/* Says that a capability is missing or has no effect. Returns false, and says nothing,
 * if the caller holds it where it counts. */
static bool
explain_capability(unsigned capability, const char *name, struct perf_refusal *refusal)
{
    const bool held = perf_refusal_holds(capability);

    if (held && perf_refusal_is_first_namespace()) {
        return false;
    }
    perf_refusal_set(
        refusal, held ? NTPROF_CAUSE_NAMESPACE : NTPROF_CAUSE_CAPABILITY, "",
        held ? "run in the initial user namespace, with CAP_BPF and CAP_PERFMON"
             : "grant CAP_BPF and CAP_PERFMON");
    snprintf(refusal->reason, sizeof(refusal->reason),
             held                    ? "the caller has %s in a user namespace only"
             : capability == CAP_BPF ? "the caller lacks %s and "
                                       "kernel.unprivileged_bpf_disabled is %ld"
                                     : "the caller lacks %s",
             name, perf_procfs_setting("kernel/unprivileged_bpf_disabled", 0));
    return true;
}

/* Explain EPERM: an old kernel, a right that is missing, or what else denies it. */
static void
explain_denied(enum bpf_stage stage, struct perf_refusal *refusal)
{
    struct utsname machine = {0};

    if (uname(&machine) == 0 && bpf_refusal_is_by_age(machine.release)) {
        perf_refusal_set(refusal, NTPROF_CAUSE_KERNEL, "the kernel is older than 5.15",
                         NEWER_KERNEL);
        return;
    }
    if (explain_capability(CAP_BPF, "CAP_BPF", refusal) ||
        (stage != BPF_STAGE_MAP &&
         explain_capability(CAP_PERFMON, "CAP_PERFMON", refusal))) {
        return;
    }
    if (perf_refusal_is_filtered()) {
        perf_refusal_set(
            refusal, NTPROF_CAUSE_SECCOMP,
            "a seccomp filter refuses bpf, as containers often do",
            "allow bpf and perf_event_open in the container's seccomp profile");
    } else {
        perf_refusal_set(
            refusal, NTPROF_CAUSE_OTHER,
            "the kernel denies it although settings and rights allow it",
            "look for a security module's denial, or lockdown, in the kernel's log");
    }
}

/* Explain other errors: the kernel is too old, or was built without what is needed. In
 * the texts %s is the errno, and then BPF's log. */
static void
explain_unable(int error, enum bpf_stage stage, struct perf_refusal *refusal)
{
    static const char *const texts[] = {
        [BPF_STAGE_PROGRAM] = "the kernel's verifier refuses the program (%s)%s%.160s",
        [BPF_STAGE_ATTACH] =
            "the kernel attaches no BPF programs to events (%s): it is older than 5.15",
        [BPF_STAGE_TRACEPOINT] = ("the kernel has no tracepoint sched_process_exec or "
                                  "sched_process_exit (%s)")};
    const char *const text =
        texts[stage] != NULL
            ? texts[stage]
            : "the kernel lacks what the program needs (%s): it is older than 5.15";

    perf_refusal_set(refusal, NTPROF_CAUSE_KERNEL, "", NEWER_KERNEL);
    snprintf(refusal->reason, sizeof(refusal->reason), text, strerror(-error),
             refusal->log[0] != 0 ? ": " : "", refusal->log);
}

/* Explain ENOSYS. Only a kernel with bpf has the setting: where it is there, a filter
 * hides the call. */
static void
explain_missing(struct perf_refusal *refusal)
{
    const bool there = perf_procfs_setting("kernel/unprivileged_bpf_disabled", -1) >= 0;

    perf_refusal_set(refusal, there ? NTPROF_CAUSE_SECCOMP : NTPROF_CAUSE_OTHER,
                     there ? "a seccomp filter hides bpf, as containers often do"
                           : "bpf is not there: a kernel without CONFIG_BPF_SYSCALL, "
                             "or hidden by a seccomp filter",
                     "allow bpf in the container's seccomp profile, or use a kernel "
                     "with it");
}

void
bpf_refusal_explain(int error, enum bpf_stage stage, struct perf_refusal *refusal)
{
    if (stage == BPF_STAGE_EVENT || error == -EMFILE || error == -ENFILE) {
        perf_refusal_explain(error, PERF_SCOPE_ALL, refusal);
        return;
    }
    refusal->error = error;
    switch (-error) {
    case EPERM:
        explain_denied(stage, refusal);
        break;
    case ENOSYS:
        explain_missing(refusal);
        break;
    case ENOMEM:
        perf_refusal_set(
            refusal, NTPROF_CAUSE_MEMORY,
            "out of memory, or a control group's limit is reached: BPF maps count",
            "raise the control group's memory limit");
        break;
    case EBUSY:
        perf_refusal_set(refusal, NTPROF_CAUSE_BUSY,
                         "another process uses the event exclusively",
                         "end other profilers and tracers, and try again");
        break;
    case EAGAIN:
        perf_refusal_set(refusal, NTPROF_CAUSE_BUSY,
                         "signals interrupt the kernel's verifier again and again",
                         "send the caller fewer signals while it opens a session");
        break;
    default:
        explain_unable(error, stage, refusal);
        break;
    }
}
