/* SPDX-License-Identifier: MIT */
/* advice.c - text only. */
#include "doctor/advice.h"

#include <string.h>

/* Makes a seccomp profile that allows perf_event_open. It removes what the default
 * profile says of that call first: two rules of one call contradict each other. */
#define PROFILE_LINE                                                                   \
    "jq '.syscalls |= (map(.names -= [\"perf_event_open\"] | select(.names != [])) + " \
    "[{\"names\":[\"perf_event_open\"],\"action\":\"SCMP_ACT_ALLOW\"}])' "             \
    "default.json "                                                                    \
    "> profile.json"

#define ABOUT_CAPABILITIES                                                        \
    "PERFMON: the kernel and all processes; SYS_PTRACE: other users' processes; " \
    "SYSLOG: names of the kernel. None: your own processes. Debian's kernels at " \
    "perf_event_paranoid 3: SYS_ADMIN in place of PERFMON"

const struct advice advice_list[] = {
    {"sysctl",
     {"sudo sysctl kernel.perf_event_paranoid=1",
      "on the host: your own processes with kernel code; 2: without; 0: all processes",
      NULL}},
    {"docker",
     {"docker run --cap-add PERFMON --cap-add SYS_PTRACE --cap-add SYSLOG "
      "--security-opt seccomp=profile.json IMAGE",
      ABOUT_CAPABILITIES, PROFILE_LINE,
      "default.json: profiles/seccomp/default.json of Docker's source. Since Docker 23 "
      "PERFMON is enough, without a profile",
      NULL}},
    {"podman",
     {"podman run --cap-add PERFMON --cap-add SYS_PTRACE --cap-add SYSLOG "
      "--security-opt seccomp=profile.json IMAGE",
      ABOUT_CAPABILITIES ". Started by root: without root, the host's sysctl decides",
      PROFILE_LINE,
      "default.json: /usr/share/containers/seccomp.json of the host. Since 2026 "
      "PERFMON "
      "is enough, without a profile",
      NULL}},
    {"kubernetes",
     {"securityContext: {capabilities: {add: [PERFMON, SYS_PTRACE, SYSLOG]}, "
      "seccompProfile: {type: Localhost, localhostProfile: profile.json}}",
      ABOUT_CAPABILITIES, PROFILE_LINE,
      "profile.json: in the kubelet's folder for seccomp; default.json: that of the "
      "container runtime",
      NULL}},
    {"systemd",
     {"AmbientCapabilities=CAP_PERFMON CAP_SYS_PTRACE CAP_SYSLOG", ABOUT_CAPABILITIES,
      "SystemCallFilter=perf_event_open",
      "in [Service], where the unit has a SystemCallFilter; systemd-nspawn: "
      "--capability= and --system-call-filter=",
      NULL}},
    {NULL, {NULL}},
};

bool
advice_applies(const struct advice *advice, enum machine_container container)
{
    static const char *const subjects[] = {
        [MACHINE_DOCKER] = "docker",
        [MACHINE_PODMAN] = "podman",
        [MACHINE_KUBERNETES] = "kubernetes",
        [MACHINE_SYSTEMD] = "systemd",
    };

    return container == MACHINE_UNKNOWN || strcmp(advice->subject, "sysctl") == 0 ||
           (container != MACHINE_NONE &&
            strcmp(advice->subject, subjects[container]) == 0);
}
