/* SPDX-License-Identifier: MIT */
/* doctor.c - examines back ends, sources and settings, and finds out which commands
 * work with them. */
#include "doctor/doctor.h"
#include "record/preload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- back ends and commands ---- */

/* Add back end timer as commands use it: in the processes of the command of run, by the
 * preload object, and not in a session of our own. */
static void
add_timers(struct doctor *doctor)
{
    ntprof_backend_info *const info = &doctor->backends[doctor->backend_count++];
    int error;

    *info = (ntprof_backend_info){.size = sizeof(*info), .name = "timer", .watches = 1};
    info->usable = preload_probe(info->reason, sizeof(info->reason), &error);
    info->error = (uint32_t)error;
    if (info->usable) {
        snprintf(info->reason, sizeof(info->reason),
                 "timers count only in programs that run starts, once a kernel tick of "
                 "%.3g ms",
                 (double)preload_tick_ns() / 1e6);
    } else {
        info->cause = NTPROF_CAUSE_OTHER;
    }
}

static void
add_backends(struct doctor *doctor)
{
    ntprof_backend_info info = {.size = sizeof(info)};

    for (uint32_t i = 0; NT_SUCCESS(ntprof_backend_next(i, &info)); i++) {
        if (strcmp(info.name, "timer") == 0) {
            add_timers(doctor);
        } else if (doctor->backend_count < DOCTOR_BACKENDS_MAX - 1) {
            doctor->backends[doctor->backend_count++] = info;
        }
    }
}

/* Return whether a command could use a back end. The simulated one shows nothing of
 * this machine, and timers run only in processes that run starts. */
static bool
backend_serves(const ntprof_backend_info *info, const char *command)
{
    return info->watches && !info->simulated &&
           (strcmp(info->name, "timer") != 0 || strcmp(command, "run") == 0);
}

/* Return what a command measures with a usable back end. */
static const char *
scope_of(const char *command, const ntprof_backend_info *info)
{
    if (strcmp(command, "run") == 0) {
        return info->kernel ? "programs that you start, in user and kernel mode"
                            : "programs that you start, in user mode";
    }
    if (strcmp(command, "system") == 0) {
        return "all processes and the kernel";
    }
    if (info->global) {
        return "all processes";
    }
    return strcmp(command, "top") == 0 ? "your processes: top -p PID"
                                       : "your processes";
}

/* Set the first usable back end of a command and what it measures, or why none is: the
 * reason of the best one. */
static void
find_backend(struct doctor *doctor, struct doctor_command *command)
{
    const bool all = strcmp(command->name, "system") == 0;
    const ntprof_backend_info *best = NULL;

    for (size_t i = 0; i < doctor->backend_count; i++) {
        const ntprof_backend_info *const info = &doctor->backends[i];

        if (!backend_serves(info, command->name)) {
            continue;
        }
        best = best == NULL ? info : best;
        if (info->usable && (info->global || !all)) {
            command->backend = info->name;
            snprintf(command->what, sizeof(command->what), "%s",
                     scope_of(command->name, info));
            return;
        }
    }
    snprintf(command->what, sizeof(command->what), "%s",
             best != NULL ? best->reason : "no back end watches processes");
}

/* Find out which commands work, and whether anything is refused. */
static void
examine_commands(struct doctor *doctor)
{
    static const char *const names[DOCTOR_COMMANDS] = {"run", "attach", "system",
                                                       "top"};

    for (size_t i = 0; i < DOCTOR_COMMANDS; i++) {
        doctor->commands[i] = (struct doctor_command){.name = names[i]};
        find_backend(doctor, &doctor->commands[i]);
        doctor->works = doctor->works || doctor->commands[i].backend != NULL;
        doctor->lacks = doctor->lacks || doctor->commands[i].backend == NULL;
    }
    /* Timers are limited by nature: nothing can be allowed that they lack. */
    for (size_t i = 0; i < doctor->backend_count; i++) {
        doctor->lacks =
            doctor->lacks ||
            (doctor->backends[i].reason[0] != '\0' && !doctor->backends[i].simulated &&
             strcmp(doctor->backends[i].name, "timer") != 0);
    }
}

/* ---- sources ---- */

/* Add a source to the group of those with the same reason. */
static void
group_source(struct doctor *doctor, const ntprof_source_info *info)
{
    struct doctor_sources *group;
    size_t used;
    size_t i = 0;

    while (i < doctor->group_count &&
           strcmp(doctor->groups[i].reason, info->reason) != 0) {
        i++;
    }
    if (i == DOCTOR_GROUPS_MAX) {
        return;
    }
    group = &doctor->groups[i];
    if (i == doctor->group_count) {
        doctor->group_count++;
        snprintf(group->reason, sizeof(group->reason), "%s", info->reason);
    }
    used = strlen(group->names);
    snprintf(group->names + used, sizeof(group->names) - used, "%s%s",
             used != 0 ? " " : "", info->name);
}

void
doctor_query_breakpoints(ntprof_session *session, ntprof_source_info *info)
{
    char name[48];
    KPROFILE_SOURCE source;
    NTSTATUS status;

    *info = (ntprof_source_info){.size = sizeof(*info)};
    snprintf(name, sizeof(name), "breakpoint:0x%" PRIxPTR, (uintptr_t)doctor_examine);
    status = ntprof_source_lookup(session, name, &source);
    if (NT_SUCCESS(status)) {
        status = ntprof_source_get(session, source, info);
    }
    if (!NT_SUCCESS(status)) {
        snprintf(info->reason, sizeof(info->reason), "%s", ntprof_status_text(status));
    }
    snprintf(info->name, sizeof(info->name), "breakpoint:0xADDRESS");
}

static void
examine_breakpoints(struct doctor *doctor, ntprof_session *session)
{
    ntprof_source_info info;

    doctor_query_breakpoints(session, &info);
    group_source(doctor, &info);
    machine_add(&doctor->facts, "breakpoints", info.supported ? "work" : "no", "%s",
                info.supported ? "executions can be counted one by one" : info.reason);
}

/* Open a session to find out which sources work, which only a session can. */
static void
examine_sources(struct doctor *doctor)
{
    /* The back end is asked for by name, so that a failure does not come with advice
     * for programs that use the library. */
    const ntprof_session_options by_name = {.size = sizeof(by_name), .backend = "perf"};
    ntprof_session *session;
    ntprof_session_info open = {.size = sizeof(open)};
    KPROFILE_SOURCE source;

    if (!NT_SUCCESS(ntprof_session_open(&by_name, &session))) {
        snprintf(doctor->failure, sizeof(doctor->failure), "%s",
                 ntprof_session_error(NULL));
        /* Without a session only run works, by timers. */
        doctor->works = doctor->commands[0].backend != NULL &&
                        strcmp(doctor->commands[0].backend, "timer") == 0;
        return;
    }
    ntprof_session_get_info(session, &open);
    snprintf(doctor->backend, sizeof(doctor->backend), "%s", open.backend);
    for (uint32_t i = 0; NT_SUCCESS(ntprof_source_next(session, i, &source)); i++) {
        ntprof_source_info info = {.size = sizeof(info)};

        if (NT_SUCCESS(ntprof_source_get(session, source, &info))) {
            doctor->sources++;
            doctor->sources_supported += info.supported;
            group_source(doctor, &info);
        }
    }
    examine_breakpoints(doctor, session);
    ntprof_session_close(session);
}

struct doctor *
doctor_examine(void)
{
    struct doctor *const doctor = calloc(1, sizeof(*doctor));

    if (doctor != NULL) {
        doctor->container = machine_find_container();
        add_backends(doctor);
        examine_commands(doctor);
        machine_add_all(&doctor->facts);
        examine_sources(doctor);
    }
    return doctor;
}
