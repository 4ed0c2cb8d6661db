/* SPDX-License-Identifier: MIT */
/* complete_values.c - finds what can be a value: sources that work here, processes,
 * functions with hits and so on. */
#include "cli/cmd.h"
#include "cli/complete.h"

#include "base/text.h"
#include "profile/group.h"
#include "profile/pprof.h"
#include "record/default_output.h"
#include "record/processes.h"
#include "view/export/export.h"

#include <dirent.h>
#include <inttypes.h>
#include <ntprof/ntprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FUNCTIONS_MAX = 200 };

#define CGROUPS "/sys/fs/cgroup/"

/* completed - the value, and what is in front of it in its word. */
struct completed {
    const char *before;
    const char *value;
};

/* Print the words of a list with blanks, or with commas and blanks. */
static void
print_words(const struct completed *completed, const char *list)
{
    char word[64];

    while (*list != '\0') {
        const size_t length = strcspn(list, ", ");

        snprintf(word, sizeof(word), "%.*s", (int)length, list);
        complete_print(completed->before, word, NULL);
        list += length;
        list += strspn(list, ", ");
    }
}

static void
print_commands(const struct completed *completed)
{
    for (const struct command *command = command_list; command->name != NULL;
         command++) {
        complete_print(completed->before, command->name, command->summary);
    }
}

/* Print the sources that work here. */
static void
print_sources(const struct completed *completed)
{
    const ntprof_session_options by_name = {.size = sizeof(by_name), .backend = "perf"};
    ntprof_session *session;
    KPROFILE_SOURCE source;

    if (!NT_SUCCESS(ntprof_session_open(&by_name, &session))) {
        return;
    }
    for (uint32_t i = 0; NT_SUCCESS(ntprof_source_next(session, i, &source)); i++) {
        ntprof_source_info info = {.size = sizeof(info)};

        if (NT_SUCCESS(ntprof_source_get(session, source, &info)) && info.supported) {
            complete_print(completed->before, info.name,
                           info.nt_name[0] != '\0' ? info.nt_name : NULL);
        }
    }
    ntprof_session_close(session);
}

static void
print_processes(const struct completed *completed)
{
    struct processes processes = {0};
    char pid[16];
    char shown[80];

    (void)processes_read(&processes);
    for (size_t i = 0; i < processes.count; i++) {
        snprintf(pid, sizeof(pid), "%" PRIu32, processes.items[i].pid);
        complete_print(completed->before, pid,
                       text_show(shown, sizeof(shown), processes.items[i].name));
    }
    processes_finish(&processes);
}

static void
print_processors(const struct completed *completed)
{
    char number[24];

    for (long i = 0; i < sysconf(_SC_NPROCESSORS_ONLN); i++) {
        snprintf(number, sizeof(number), "%ld", i);
        complete_print(completed->before, number, NULL);
    }
}

/* Print the cgroups in the one that the value names so far. */
static void
print_cgroups(const struct completed *completed)
{
    const char *const last = strrchr(completed->value, '/');
    const int parent = last != NULL ? (int)(last - completed->value) + 1 : 0;
    const struct dirent *entry;
    char path[512];
    DIR *folder;

    snprintf(path, sizeof(path), CGROUPS "%.*s", parent, completed->value);
    folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%.*s%s/", parent, completed->value,
                     entry->d_name);
            complete_print(completed->before, path, NULL);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

/* Whether a shell takes a name as it is. */
static bool
is_plain(const char *name)
{
    return name[0] != '\0' && (name[0] < '0' || name[0] > '9') &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789_.")] == '\0';
}

/* Print the functions of the last profile, those with most hits. */
static void
print_functions(const struct completed *completed)
{
    struct pprof_error error;
    struct profile *const profile = pprof_read(CMD_FILE_DEFAULT, &error);
    struct report_groups groups = {0};

    if (profile != NULL &&
        report_group_rows(profile, &(struct report_grouping){0}, &groups)) {
        for (size_t i = 0; i < groups.count && i < FUNCTIONS_MAX; i++) {
            const struct profile_function *const function = groups.groups[i].function;

            if (function != NULL && is_plain(function->name)) {
                complete_print(completed->before, function->name, "function with hits");
            }
        }
    }
    if (profile != NULL) {
        report_groups_finish(&groups);
    }
    profile_delete(profile);
}

static void
print_keys(const struct completed *completed, bool by_source)
{
    char list[300] = "";

    report_keys_list(list, sizeof(list), by_source);
    print_words(completed, list);
}

static void
print_all_keys(const struct completed *completed)
{
    print_keys(completed, true);
}

static void
print_compared_keys(const struct completed *completed)
{
    print_keys(completed, false);
}

static void
print_formats(const struct completed *completed)
{
    print_words(completed, export_format_names());
}

/* Print what a kind in <> stands for, or have the shell find it. */
static void
print_kind(const struct completed *completed, const char *kind)
{
    static const struct {
        const char *kind;
        void (*print)(const struct completed *completed);
    } known[] = {
        {"<command>", print_commands}, {"<source>", print_sources},
        {"<pid>", print_processes},    {"<cpu>", print_processors},
        {"<cgroup>", print_cgroups},   {"<function>", print_functions},
        {"<key>", print_all_keys},     {"<compared-key>", print_compared_keys},
        {"<format>", print_formats},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(kind, known[i].kind) == 0) {
            known[i].print(completed);
            return;
        }
    }
    printf(":%.*s\n", (int)strlen(kind) - 2, kind + 1); /* <file> and so on */
}

/* Print candidates of kinds with blanks between. */
static void
print_kinds(const struct completed *completed, char *kinds)
{
    char *kind;

    while ((kind = strsep(&kinds, " ")) != NULL) {
        if (kind[0] == '<') {
            print_kind(completed, kind);
        } else {
            complete_print(completed->before, kind, NULL);
        }
    }
}

void
complete_values(const char *before, const char *value, const char *kinds)
{
    const bool list = kinds != NULL && kinds[0] == ',';
    const char *const comma = list ? strrchr(value, ',') : NULL;
    const int done = comma != NULL ? (int)(comma - value) + 1 : 0;
    char *const rest = kinds != NULL ? strdup(kinds + list) : NULL;
    char *all;

    if (rest != NULL && asprintf(&all, "%s%.*s", before, done, value) >= 0) {
        print_kinds(&(struct completed){all, value + done}, rest);
        free(all);
    }
    free(rest);
}
