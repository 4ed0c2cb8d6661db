/* SPDX-License-Identifier: MIT */
/* machine.c - reads settings from /proc, and rights and limits from the kernel. */
#include "doctor/machine.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Inodes of the first namespaces, the same in all kernels. */
enum {
    FIRST_USER_NAMESPACE = 0xEFFFFFFD,
    FIRST_PID_NAMESPACE = 0xEFFFFFFC,
    FIRST_TIME_NAMESPACE = 0xEFFFFFFA
};

void
machine_add(struct machine_facts *facts, const char *name, const char *value,
            const char *meaning, ...)
{
    struct machine_fact *const fact = &facts->list[facts->count++];
    va_list arguments;

    fact->name = name;
    snprintf(fact->value, sizeof(fact->value), "%s", value);
    va_start(arguments, meaning);
    vsnprintf(fact->meaning, sizeof(fact->meaning), meaning, arguments);
    va_end(arguments);
}

/* Read the first line of a small file; "" if it cannot be read. */
static void
read_line(const char *path, char *text, size_t size)
{
    FILE *const file = fopen(path, "re");

    text[0] = '\0';
    if (file != NULL) {
        if (fgets(text, (int)size, file) == NULL) {
            text[0] = '\0';
        }
        fclose(file);
    }
    text[strcspn(text, "\n")] = '\0';
}

/* ---- settings ---- */

static const char *
explain_paranoid(const char *value)
{
    switch (atoi(value)) {
    case -1:
        return "everybody may count everything";
    case 0:
        return "users may count whole processors, but no raw tracepoints";
    case 1:
        return "users may count their processes, kernel code included";
    case 2:
        return "users may count their processes in user mode; CAP_PERFMON or 1 adds "
               "the kernel";
    default:
        return "as 2; kernels of Debian, Ubuntu and Android let users count nothing, "
               "on Debian without CAP_SYS_ADMIN";
    }
}

static const char *
explain_pointers(const char *value)
{
    switch (atoi(value)) {
    case 0:
        return "names of kernel functions for CAP_SYSLOG, and for all if "
               "perf_event_paranoid is 1 or less";
    case 1:
        return "names of kernel functions for CAP_SYSLOG";
    default:
        return "names of kernel functions for no user";
    }
}

static const char *
explain_bpf(const char *value)
{
    return atoi(value) == 0 ? "users may load some BPF programs, but none that profiles"
                            : "back end bpf needs CAP_BPF and CAP_PERFMON";
}

static void
add_settings(struct machine_facts *facts)
{
    static const struct {
        const char *path;
        const char *(*explain)(const char *value); /* explains a value; NULL: meaning
                                                    * does for all */
        const char *meaning;
        const char *missing;
    } settings[] = {
        {"/proc/sys/kernel/perf_event_paranoid", explain_paranoid, NULL,
         "cannot be read: a kernel without perf events, or /proc is hidden"},
        {"/proc/sys/kernel/perf_event_max_sample_rate", NULL,
         "most hits a second on a processor; -F above is cut to it", "cannot be read"},
        {"/proc/sys/kernel/perf_event_mlock_kb", NULL,
         "ring memory for each processor, all profilers of a user together",
         "cannot be read"},
        {"/proc/sys/kernel/kptr_restrict", explain_pointers, NULL, "cannot be read"},
        {"/proc/sys/kernel/unprivileged_bpf_disabled", explain_bpf, NULL,
         "cannot be read: a kernel without bpf, or /proc is hidden"},
        {"/proc/sys/kernel/yama/ptrace_scope", NULL,
         "who may trace whom; attach only reads, which this does not limit",
         "no Yama, or /proc is hidden"},
    };

    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        const char *const name = strrchr(settings[i].path, '/') + 1;
        const char *meaning = settings[i].meaning;
        char value[64];

        read_line(settings[i].path, value, sizeof(value));
        if (value[0] == '\0') {
            machine_add(facts, name, "-", "%s", settings[i].missing);
            continue;
        }
        if (settings[i].explain != NULL) {
            meaning = settings[i].explain(value);
        }
        machine_add(facts, name, value, "%s", meaning);
    }
}

/* ---- rights and limits ---- */

static void
add_capabilities(struct machine_facts *facts)
{
    static const struct {
        unsigned number;
        const char *name;
    } wanted[] = {
        {CAP_PERFMON, "PERFMON"},     {CAP_BPF, "BPF"},
        {CAP_SYS_ADMIN, "SYS_ADMIN"}, {CAP_SYS_PTRACE, "SYS_PTRACE"},
        {CAP_SYSLOG, "SYSLOG"},       {CAP_IPC_LOCK, "IPC_LOCK"},
    };
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3] = {0};
    char names[2][160] = {"", ""}; /* names[0]: capabilities that are missing; names[1]:
                                    * those that are there */
    char value[32];

    (void)syscall(SYS_capget, &header, held);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const unsigned number = wanted[i].number;
        char *const list = names[held[number / 32].effective >> number % 32 & 1];
        const size_t used = strlen(list);

        snprintf(list + used, sizeof(names[0]) - used, "%s%s", used != 0 ? ", " : "",
                 wanted[i].name);
    }
    snprintf(value, sizeof(value), "%08x%08x", held[1].effective, held[0].effective);
    machine_add(facts, "capabilities", value, "%s%s%s%s",
                names[1][0] != '\0' ? "has " : "", names[1],
                names[0][0] == '\0'   ? ""
                : names[1][0] != '\0' ? "; lacks "
                                      : "lacks ",
                names[0]);
}

static void
add_seccomp(struct machine_facts *facts)
{
    const int mode = prctl(PR_GET_SECCOMP);

    machine_add(facts, "seccomp", mode == 2 ? "filter" : "none",
                mode == 2 ? "a filter is on, as in containers: it may refuse "
                            "perf_event_open and bpf"
                          : "no filter refuses calls");
}

/* Return 1 if a namespace is the first of its kind, 0 if it is another, -1 if that
 * cannot be found out. inode: that of the first. */
static int
is_first(const char *path, uint64_t inode)
{
    struct stat status;

    return stat(path, &status) != 0 ? -1 : (uint64_t)status.st_ino == inode;
}

/* Write by how much the monotonic clock of this time namespace differs from the
 * kernel's, whose time hits have. */
static void
explain_clock(char *text, size_t size)
{
    struct stat own;
    struct stat children;
    char line[128];
    int64_t seconds;
    int64_t ns;
    double offset;

    read_line("/proc/self/timens_offsets", line, sizeof(line));
    if (stat("/proc/self/ns/time", &own) != 0 ||
        stat("/proc/self/ns/time_for_children", &children) != 0 ||
        own.st_ino != children.st_ino || /* timens_offsets has the offsets of
                                          * children */
        sscanf(line, "%*s %" SCNd64 " %" SCNd64, &seconds, &ns) != 2) {
        snprintf(
            text, size,
            "how far its clock is from the kernel's, which hits have, is not known");
        return;
    }
    offset = (double)seconds + (double)ns / 1e9;
    snprintf(text, size, "its clock is %.10g s %s the kernel's, which hits have",
             offset < 0 ? -offset : offset, offset < 0 ? "behind" : "ahead of");
}

static void
add_time_namespace(struct machine_facts *facts)
{
    const int first = is_first("/proc/self/ns/time", FIRST_TIME_NAMESPACE);
    const bool shown = access("/proc/self/ns", F_OK) == 0;
    char text[128] = "its clock is the kernel's";

    if (first == 0) {
        explain_clock(text, sizeof(text));
    } else if (first < 0) {
        snprintf(text, sizeof(text), "%s",
                 shown ? "the kernel has none" : "/proc does not show it");
    }
    machine_add(facts, "time namespace",
                first == 1   ? "the first"
                : first == 0 ? "of its own"
                : shown      ? "none"
                             : "unknown",
                "%s", text);
}

static void
add_namespaces(struct machine_facts *facts)
{
    static const char *const values[] = {"unknown", "of its own", "the first"};
    const int user = is_first("/proc/self/ns/user", FIRST_USER_NAMESPACE);
    const int pid = is_first("/proc/self/ns/pid", FIRST_PID_NAMESPACE);

    machine_add(facts, "user namespace", values[user + 1],
                user == 1   ? "capabilities count"
                : user == 0 ? "capabilities of it do not count for perf events"
                            : "/proc does not show it");
    machine_add(facts, "pid namespace", values[pid + 1],
                pid == 1   ? "all processes have pids"
                : pid == 0 ? "only processes in it can be watched by their pids"
                           : "/proc does not show it");
    add_time_namespace(facts);
}

static const char *
format_limit(char *text, size_t size, int resource, uint64_t unit, const char *suffix)
{
    struct rlimit limit = {0};

    getrlimit((__rlimit_resource_t)resource, &limit);
    if (limit.rlim_cur == RLIM_INFINITY) {
        snprintf(text, size, "unlimited");
    } else {
        snprintf(text, size, "%" PRIu64 "%s", (uint64_t)limit.rlim_cur / unit, suffix);
    }
    return text;
}

static void
add_limits(struct machine_facts *facts)
{
    char text[32];

    machine_add(facts, "open files",
                format_limit(text, sizeof(text), RLIMIT_NOFILE, 1, ""),
                "attach needs sources x threads x processors of them");
    machine_add(facts, "locked memory",
                format_limit(text, sizeof(text), RLIMIT_MEMLOCK, 1024, " KiB"),
                "counters, and rings above perf_event_mlock_kb");
}

/* Add the rate of the kernel's tick. The coarse clock moves at each tick, so its
 * resolution is the length of a tick. */
static void
add_tick(struct machine_facts *facts)
{
    struct timespec tick = {0};
    char value[32];

    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    snprintf(value, sizeof(value), "%ld Hz",
             tick.tv_nsec > 0 ? 1000000000 / tick.tv_nsec : 0);
    machine_add(facts, "tick", value,
                "CPU timers expire at it, however short they are");
}

static void
add_files(struct machine_facts *facts)
{
    struct statvfs root = {0};

    if (access("/proc/self/stat", R_OK) != 0) {
        machine_add(facts, "/proc", "missing",
                    "processes that run, settings and names of mapped files are there");
    }
    if (access("/sys/bus/event_source/devices", R_OK) != 0) {
        machine_add(facts, "/sys", "missing",
                    "sources of the processor's other units, and uprobes, are there");
    }
    if (statvfs("/", &root) == 0 && (root.f_flag & ST_RDONLY) != 0) {
        machine_add(facts, "/", "read-only", "-o names the profile elsewhere");
    }
}

/* ---- containers ---- */

enum machine_container
machine_find_container(void)
{
    const char *const variable = getenv("container");
    char name[64];

    read_line("/run/systemd/container", name, sizeof(name));
    if (getenv("KUBERNETES_SERVICE_HOST") != NULL) {
        return MACHINE_KUBERNETES;
    }
    if (access("/.dockerenv", F_OK) == 0 || strcmp(name, "docker") == 0) {
        return MACHINE_DOCKER;
    }
    if (access("/run/.containerenv", F_OK) == 0 || strcmp(name, "podman") == 0 ||
        (variable != NULL && strcmp(variable, "podman") == 0)) {
        return MACHINE_PODMAN;
    }
    if (strcmp(name, "systemd-nspawn") == 0 || getenv("INVOCATION_ID") != NULL) {
        return MACHINE_SYSTEMD;
    }
    return variable != NULL || name[0] != '\0' ||
                   is_first("/proc/self/ns/pid", FIRST_PID_NAMESPACE) == 0 ||
                   is_first("/proc/self/ns/user", FIRST_USER_NAMESPACE) == 0
               ? MACHINE_UNKNOWN
               : MACHINE_NONE;
}

static void
add_container(struct machine_facts *facts)
{
    static const char *const names[] = {
        [MACHINE_NONE] = "none",       [MACHINE_DOCKER] = "Docker",
        [MACHINE_PODMAN] = "Podman",   [MACHINE_KUBERNETES] = "Kubernetes",
        [MACHINE_SYSTEMD] = "systemd", [MACHINE_UNKNOWN] = "unknown",
    };
    const enum machine_container found = machine_find_container();

    machine_add(facts, "container", names[found],
                found == MACHINE_NONE ? "no sign of a container engine"
                : found == MACHINE_UNKNOWN
                    ? "namespaces of its own, but no sign of the engine"
                    : "by the files and variables that it leaves");
}

void
machine_add_all(struct machine_facts *facts)
{
    struct utsname name = {0};
    char value[64];

    (void)uname(&name);
    snprintf(value, sizeof(value), "%.40s %.20s", name.release, name.machine);
    machine_add(facts, "kernel", value, "%ld processors",
                sysconf(_SC_NPROCESSORS_ONLN));
    snprintf(value, sizeof(value), "uid %u", (unsigned)geteuid());
    machine_add(facts, "user", value, geteuid() == 0 ? "root" : "an ordinary user");
    add_settings(facts);
    add_capabilities(facts);
    add_seccomp(facts);
    add_namespaces(facts);
    add_container(facts);
    add_limits(facts);
    add_tick(facts);
    add_files(facts);
}
