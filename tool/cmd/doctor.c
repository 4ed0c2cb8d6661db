/* SPDX-License-Identifier: MIT */
/* cmd/doctor.c - ntprof doctor: shows what works for this user on this machine, and
 * what refuses the rest. */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/sources.h"
#include "util/json.h"

#include <inttypes.h>
#include <ntprof/ntprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* fact - a setting of this machine, and what it means for profiling. */
struct fact {
    const char *name;
    char value[64];
    char meaning[200];
};

enum { FACTS_MAX = 12 };

struct facts {
    struct fact list[FACTS_MAX];
    size_t count;
};

static struct fact *
add_fact(struct facts *facts, const char *name)
{
    struct fact *const fact = &facts->list[facts->count++];

    fact->name = name;
    return fact;
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

/* Read the value of a "Name:\tvalue" line of /proc/self/status. */
static void
read_status(const char *name, char *text, size_t size)
{
    FILE *const file = fopen("/proc/self/status", "re");
    char line[256];

    text[0] = '\0';
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            const char *const value =
                line + strlen(name) + strspn(line + strlen(name), " \t");

            snprintf(text, size, "%s", value);
            text[strcspn(text, "\n")] = '\0';
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static const char *
explain_paranoid(const char *value)
{
    if (value[0] == '\0') {
        return "cannot be read: the kernel was built without perf events, or /proc is "
               "hidden";
    }
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
        return "users may not count at all; CAP_PERFMON, or 2 and less, allows it";
    }
}

static void
add_settings(struct facts *facts)
{
    struct fact *fact = add_fact(facts, "perf_event_paranoid");

    read_line("/proc/sys/kernel/perf_event_paranoid", fact->value, sizeof(fact->value));
    snprintf(fact->meaning, sizeof(fact->meaning), "%s", explain_paranoid(fact->value));

    fact = add_fact(facts, "perf_event_max_sample_rate");
    read_line("/proc/sys/kernel/perf_event_max_sample_rate", fact->value,
              sizeof(fact->value));
    snprintf(fact->meaning, sizeof(fact->meaning),
             "most hits a second on a processor; -F above is cut to it");

    fact = add_fact(facts, "perf_event_mlock_kb");
    read_line("/proc/sys/kernel/perf_event_mlock_kb", fact->value, sizeof(fact->value));
    snprintf(fact->meaning, sizeof(fact->meaning),
             "ring memory for each processor, all profilers of a user together");

    fact = add_fact(facts, "kptr_restrict");
    read_line("/proc/sys/kernel/kptr_restrict", fact->value, sizeof(fact->value));
    snprintf(fact->meaning, sizeof(fact->meaning),
             "0: names of kernel functions for CAP_SYSLOG; 2: for no user");
}

/* Capability numbers: CAP_PERFMON 38, CAP_BPF 39, CAP_SYS_ADMIN 21, CAP_SYS_PTRACE 19,
 * CAP_SYSLOG 34. */
static void
add_capabilities(struct facts *facts)
{
    static const struct {
        int bit;
        const char *name;
    } wanted[] = {{38, "CAP_PERFMON"},
                  {39, "CAP_BPF"},
                  {21, "CAP_SYS_ADMIN"},
                  {19, "CAP_SYS_PTRACE"},
                  {34, "CAP_SYSLOG"}};
    struct fact *const fact = add_fact(facts, "capabilities");
    uint64_t bits;

    read_status("CapEff:", fact->value, sizeof(fact->value));
    bits = strtoull(fact->value, NULL, 16);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const size_t used = strlen(fact->meaning);

        snprintf(fact->meaning + used, sizeof(fact->meaning) - used, "%s%s %s",
                 i == 0 ? "" : ", ", wanted[i].name,
                 (bits >> wanted[i].bit & 1) != 0 ? "yes" : "no");
    }
}

static void
add_process(struct facts *facts)
{
    struct fact *fact = add_fact(facts, "seccomp");
    struct rlimit files;

    read_status("Seccomp:", fact->value, sizeof(fact->value));
    snprintf(fact->meaning, sizeof(fact->meaning), "%s",
             strcmp(fact->value, "0") == 0 ? "no filter"
                                           : "a filter is on, as in containers: it may "
                                             "refuse perf_event_open and bpf");

    fact = add_fact(facts, "open files");
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        snprintf(fact->value, sizeof(fact->value), "%" PRIu64 " of %" PRIu64,
                 (uint64_t)files.rlim_cur, (uint64_t)files.rlim_max);
    }
    snprintf(fact->meaning, sizeof(fact->meaning),
             "attaching needs sources x threads x processors of them");
}

static void
add_machine(struct facts *facts)
{
    struct fact *fact = add_fact(facts, "kernel");
    struct utsname name;

    if (uname(&name) == 0) {
        snprintf(fact->value, sizeof(fact->value), "%.40s %.20s", name.release,
                 name.machine);
    }
    snprintf(fact->meaning, sizeof(fact->meaning), "%ld processors",
             sysconf(_SC_NPROCESSORS_ONLN));

    fact = add_fact(facts, "user");
    snprintf(fact->value, sizeof(fact->value), "uid %u", (unsigned)geteuid());
    snprintf(fact->meaning, sizeof(fact->meaning), "%s",
             geteuid() == 0 ? "root" : "an ordinary user");
}

/* Print text from this machine as a JSON string. */
static void
print_json_text(const char *text)
{
    struct buffer json = {0};

    json_put_text(&json, text);
    if (!json.failed) {
        fwrite(json.data, 1, json.size, stdout);
    }
    buffer_finish(&json);
}

static void
print_facts(const struct facts *facts, bool json)
{
    for (size_t i = 0; i < facts->count; i++) {
        const struct fact *const fact = &facts->list[i];

        if (json) {
            printf("%s\n  {\"name\":", i == 0 ? "" : ",");
            print_json_text(fact->name);
            printf(",\"value\":");
            print_json_text(fact->value);
            printf(",\"meaning\":");
            print_json_text(fact->meaning);
            printf("}");
        } else {
            printf("  %-28s %-22s %s\n", fact->name, fact->value, fact->meaning);
        }
    }
}

static void
print_backend(const ntprof_backend_info *info, bool json, bool first)
{
    const char *const work =
        info->watches ? "works: your processes"
                      : "works for profile objects of programs, not for commands: "
                        "your processes";

    if (json) {
        printf("%s\n  {\"name\":", first ? "" : ",");
        print_json_text(info->name);
        printf(",\"usable\":%s,\"watches\":%s,\"kernel\":%s,\"global\":%s,\"reason\":",
               info->usable ? "true" : "false", info->watches ? "true" : "false",
               info->kernel ? "true" : "false", info->global ? "true" : "false");
        print_json_text(info->reason);
        printf(",\"remedy\":");
        print_json_text(info->remedy);
        printf("}");
        return;
    }
    printf("  %-8s %s%s%s\n", info->name, info->usable ? work : "refused",
           info->usable && info->kernel ? ", kernel code" : "",
           info->usable && info->global ? ", all processes" : "");
    if (info->reason[0] != '\0') {
        printf("           %s %s\n",
               info->usable ? "no more, because:" : "because:", info->reason);
    }
    if (info->remedy[0] != '\0') {
        printf("           to allow: %s\n", info->remedy);
    }
}

/* Print the back ends. Returns whether one of them works for commands; the simulated
 * one does not count, since it shows nothing of this machine. */
static bool
print_backends(bool json)
{
    ntprof_backend_info info = {.size = sizeof(info)};
    bool usable = false;

    for (uint32_t i = 0; NT_SUCCESS(ntprof_backend_next(i, &info)); i++) {
        const bool simulated = strcmp(info.name, "sim") == 0;

        if (json || !simulated) {
            print_backend(&info, json, i == 0);
        }
        usable = usable || (info.usable && info.watches && !simulated);
    }
    return usable;
}

static void
count_sources(ntprof_session *session, unsigned *supported, unsigned *all)
{
    KPROFILE_SOURCE source;

    for (uint32_t i = 0; NT_SUCCESS(ntprof_source_next(session, i, &source)); i++) {
        ntprof_source_info info = {.size = sizeof(info)};

        if (NT_SUCCESS(ntprof_source_get(session, source, &info))) {
            *all += 1;
            *supported += info.supported;
        }
    }
}

/* Add which sources work, which only a session can find out. */
static void
add_sources(struct facts *facts, unsigned *supported, unsigned *all)
{
    ntprof_session *session;
    ntprof_source_info info;
    struct fact *fact;

    *supported = 0;
    *all = 0;
    if (!NT_SUCCESS(ntprof_session_open(NULL, &session))) {
        return;
    }
    count_sources(session, supported, all);
    sources_query_breakpoints(session, &info);
    fact = add_fact(facts, "breakpoints");
    snprintf(fact->value, sizeof(fact->value), "%s", info.supported ? "work" : "no");
    snprintf(fact->meaning, sizeof(fact->meaning), "%s",
             info.supported ? "executions can be counted one by one" : info.reason);
    ntprof_session_close(session);
}

int
cmd_doctor(int argc, char **argv)
{
    bool json = false;
    int exit_status;
    struct facts facts = {0};
    unsigned supported;
    unsigned all;
    bool usable;

    if (!options_take_json("doctor", argc, argv, &json, &exit_status)) {
        return exit_status;
    }
    add_machine(&facts);
    add_settings(&facts);
    add_capabilities(&facts);
    add_process(&facts);
    printf("%s", json ? "{\"schema\":\"ntprof.doctor\",\"version\":1,\"backends\":["
                      : "Ways to get hits, best first\n");
    usable = print_backends(json);
    printf("%s", json ? "\n ],\"facts\":[" : "\nThis machine and user\n");
    add_sources(&facts, &supported, &all);
    print_facts(&facts, json);
    if (json) {
        printf("\n ],\"sources_supported\":%u,\"sources\":%u,\"works\":%s}\n",
               supported, all, usable ? "true" : "false");
    } else {
        printf("\n%u of %u sources work; ntprof sources lists them.\n%s\n", supported,
               all,
               usable ? "Profiling works: ntprof run -- COMMAND"
                      : "Profiling does not work here: see what is refused above.");
    }
    return usable ? CMD_OK : CMD_FAILED;
}
