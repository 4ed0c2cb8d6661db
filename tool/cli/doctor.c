/* SPDX-License-Identifier: MIT */
/* cli/doctor.c - ntprof doctor: shows what works for this user on this machine, what
 * refuses the rest, and which lines allow more. */
#include "doctor/doctor.h"
#include "base/options.h"
#include "cli/cmd.h"

#include <ntprof/ntprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where lines of names break. */
enum { LINE_COLUMNS = 90 };

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

/* Print names, between which there are blanks, in lines of up to LINE_COLUMNS behind a
 * title. */
static void
print_names(const char *title, const char *names)
{
    size_t column = 0;

    while (*names != '\0') {
        const size_t length = strcspn(names, " ");

        if (column == 0 || column + length >= LINE_COLUMNS) {
            /* less the newline, which the first line does not have */
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

static const char help[] =
    "Examples\n"
    "  ntprof doctor                   what works here, what would allow the rest\n"
    "  ntprof doctor --json            the same for programs\n"
    "\n"
    "usage: ntprof doctor [--json]\n"
    "\n"
    "Tells what works here for this user, which setting refuses the rest and what\n"
    "would allow it. Exit status 0 if profiling works at all.\n";

static const struct options_row rows[] = {
    {"json", 0, NULL, "as JSON", NULL, OPTIONS_CALL(options_take_flag)},
    {0},
};

const struct options_syntax cmd_doctor_options = {
    .command = "doctor", .help = help, .groups = {{rows, 0}}};

int
cmd_doctor(int argc, char **argv)
{
    struct doctor *doctor;
    struct options_words words;
    bool json = false;
    bool works;
    int exit_status;

    if (!options_take(&cmd_doctor_options, argc, argv, &json, &words, &exit_status)) {
        return exit_status;
    }
    doctor = doctor_examine();
    if (doctor == NULL) {
        return cmd_fail("doctor", "out of memory");
    }
    if (json) {
        doctor_print_json(doctor);
    } else {
        print_text(doctor);
    }
    works = doctor->works;
    free(doctor);
    return works ? CMD_OK : CMD_FAILED;
}
