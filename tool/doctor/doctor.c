/* SPDX-License-Identifier: MIT */
/* doctor/doctor.c - ntprof doctor: shows what works for this user on this machine, what
 * refuses the rest, and which lines allow more. */
#include "doctor/doctor.h"
#include "base/options.h"
#include "cli/cmd.h"
#include "cli/sources.h"
#include "record/preload.h"

#include <ntprof/ntprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_COLUMNS = 90 };

/* ---- back ends and commands ---- */

/* Timers in the processes of run's command, rather than in our own. */
static void
look_at_timers(struct doctor *doctor)
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
look_at_backends(struct doctor *doctor)
{
    ntprof_backend_info info = {.size = sizeof(info)};

    for (uint32_t i = 0; NT_SUCCESS(ntprof_backend_next(i, &info)); i++) {
        if (strcmp(info.name, "timer") == 0) {
            look_at_timers(doctor);
        } else if (doctor->backend_count < DOCTOR_BACKENDS_MAX - 1) {
            doctor->backends[doctor->backend_count++] = info;
        }
    }
}

/* The simulated one shows nothing of this machine, and timers are only in processes
 * that run starts. */
static bool
serves(const ntprof_backend_info *info, const char *command)
{
    return info->watches && !info->simulated &&
           (strcmp(info->name, "timer") != 0 || strcmp(command, "run") == 0);
}

/* Say what the command measures. */
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

static void
look_at_command(struct doctor *doctor, struct doctor_command *command)
{
    const bool all = strcmp(command->name, "system") == 0;
    const ntprof_backend_info *best = NULL;

    for (size_t i = 0; i < doctor->backend_count; i++) {
        const ntprof_backend_info *const info = &doctor->backends[i];

        if (!serves(info, command->name)) {
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

static void
look_at_commands(struct doctor *doctor)
{
    static const char *const names[DOCTOR_COMMANDS] = {"run", "attach", "system",
                                                       "top"};

    for (size_t i = 0; i < DOCTOR_COMMANDS; i++) {
        doctor->commands[i] = (struct doctor_command){.name = names[i]};
        look_at_command(doctor, &doctor->commands[i]);
        doctor->works = doctor->works || doctor->commands[i].backend != NULL;
        doctor->lacks = doctor->lacks || doctor->commands[i].backend == NULL;
    }
    for (size_t i = 0; i < doctor->backend_count; i++) {
        doctor->lacks =
            doctor->lacks ||
            (doctor->backends[i].reason[0] != '\0' && !doctor->backends[i].simulated &&
             strcmp(doctor->backends[i].name, "timer") != 0);
    }
}

/* ---- sources ---- */

/* Add a source to those with the same reason. */
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

static void
look_at_breakpoints(struct doctor *doctor, ntprof_session *session)
{
    ntprof_source_info info;

    sources_query_breakpoints(session, &info);
    group_source(doctor, &info);
    machine_add(&doctor->facts, "breakpoints", info.supported ? "work" : "no", "%s",
                info.supported ? "executions can be counted one by one" : info.reason);
}

/* Only a session can find out which work. */
static void
look_at_sources(struct doctor *doctor)
{
    ntprof_session *session;
    ntprof_session_info open = {.size = sizeof(open)};
    KPROFILE_SOURCE source;

    if (!NT_SUCCESS(ntprof_session_open(NULL, &session))) {
        snprintf(doctor->failure, sizeof(doctor->failure), "%s",
                 ntprof_session_error(NULL));
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
    look_at_breakpoints(doctor, session);
    ntprof_session_close(session);
}

/* ---- as text ---- */

static void
print_commands(const struct doctor *doctor)
{
    printf("What you can do here\n");
    for (size_t i = 0; i < DOCTOR_COMMANDS; i++) {
        const struct doctor_command *const command = &doctor->commands[i];

        printf("  ntprof %-8s %-6s %s%s\n", command->name,
               command->backend != NULL ? command->backend : "no",
               command->backend != NULL ? "" : "because: ", command->what);
    }
}

static void
print_backend(const ntprof_backend_info *info)
{
    const char *const work =
        info->watches ? "works: your processes"
                      : "works for profile objects of programs, not for commands: "
                        "your processes";
    const char *const error = info->error != 0 ? strerrorname_np((int)info->error) : "";

    printf("  %-8s %s%s%s\n", info->name, info->usable ? work : "refused",
           info->usable && info->kernel ? ", kernel code" : "",
           info->usable && info->global ? ", all processes" : "");
    if (info->reason[0] != '\0') {
        printf("           %s %s%s%s%s\n",
               info->usable ? "no more, because:" : "because:", info->reason,
               error[0] != '\0' ? " (" : "", error, error[0] != '\0' ? ")" : "");
    }
    if (info->remedy[0] != '\0') {
        printf("           to allow: %s\n", info->remedy);
    }
}

/* Print words in lines of up to LINE_COLUMNS. */
static void
print_names(const char *title, const char *names)
{
    size_t column = 0;

    while (*names != '\0') {
        const size_t length = strcspn(names, " ");

        if (column == 0 || column + length >= LINE_COLUMNS) {
            column = (size_t)printf("%s  %-8s", column == 0 ? "" : "\n", title) - 1;
            title = "";
        }
        column += (size_t)printf(" %.*s", (int)length, names);
        names += length + (names[length] == ' ');
    }
    printf("\n");
}

static void
print_sources(const struct doctor *doctor)
{
    printf("\nSources, by back end %s: %u of %u work\n", doctor->backend,
           doctor->sources_supported, doctor->sources);
    for (size_t i = 0; i < doctor->group_count; i++) {
        const struct doctor_sources *const group = &doctor->groups[i];

        print_names(group->reason[0] == '\0' ? "work" : "no", group->names);
        if (group->reason[0] != '\0') {
            printf("           because: %s\n", group->reason);
        }
    }
}

static void
print_advice(const struct doctor *doctor)
{
    printf("\nTo allow more\n");
    for (const struct advice *advice = advice_list; advice->subject != NULL; advice++) {
        if (!advice_applies(advice, doctor->container)) {
            continue;
        }
        for (size_t i = 0; advice->lines[i] != NULL; i += 2) {
            printf("  %-10s %s\n             %s\n", i == 0 ? advice->subject : "",
                   advice->lines[i], advice->lines[i + 1]);
        }
    }
    if (doctor->container == MACHINE_NONE) {
        printf("  In containers of Docker, Podman and Kubernetes and in units of "
               "systemd: man ntprof-doctor\n");
    }
}

static void
print_text(const struct doctor *doctor)
{
    print_commands(doctor);
    printf("\nWays to get hits, best first\n");
    for (size_t i = 0; i < doctor->backend_count; i++) {
        if (!doctor->backends[i].simulated) {
            print_backend(&doctor->backends[i]);
        }
    }
    if (doctor->failure[0] != '\0') {
        printf("\nNo session can be opened\n           because: %s\n", doctor->failure);
    } else {
        print_sources(doctor);
    }
    printf("\nThis machine and user\n");
    for (size_t i = 0; i < doctor->facts.count; i++) {
        const struct machine_fact *const fact = &doctor->facts.list[i];

        printf("  %-28s %-22s %s\n", fact->name, fact->value, fact->meaning);
    }
    if (doctor->lacks) {
        print_advice(doctor);
    }
    printf("\n%s\n", doctor->works
                         ? "Profiling works: ntprof run -- COMMAND"
                         : "Profiling does not work here: see what is refused above.");
}

int
cmd_doctor(int argc, char **argv)
{
    struct doctor *doctor;
    bool json = false;
    bool works;
    int exit_status;

    if (!options_take_json("doctor", argc, argv, &json, &exit_status)) {
        return exit_status;
    }
    doctor = calloc(1, sizeof(*doctor));
    if (doctor == NULL) {
        return cmd_fail("doctor", "out of memory");
    }
    doctor->container = machine_find_container();
    look_at_backends(doctor);
    look_at_commands(doctor);
    machine_look(&doctor->facts);
    look_at_sources(doctor);
    if (json) {
        doctor_print_json(doctor);
    } else {
        print_text(doctor);
    }
    works = doctor->works;
    free(doctor);
    return works ? CMD_OK : CMD_FAILED;
}
