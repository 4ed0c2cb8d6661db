/* SPDX-License-Identifier: MIT */
/* offers.c - finds sources that work here, processes, processors, cgroups, and
 * functions that had hits. */
#include "record/offers.h"

#include "base/cpu_list.h"
#include "base/text.h"
#include "profile/group.h"
#include "profile/pprof.h"
#include "record/default_output.h"
#include "record/processes.h"

#include <dirent.h>
#include <inttypes.h>
#include <ntprof/ntprof.h>
#include <stdio.h>
#include <string.h>

/* Functions that are offered at most. */
enum { FUNCTIONS_MAX = 200 };

#define CGROUPS "/sys/fs/cgroup/"

/* offers - what is asked for, and the function that receives it. */
struct offers {
    const char *begun;
    offers_take *take;
    void *context;
};

/* Offer the sources that work here. */
static void
offer_sources(const struct offers *offers)
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
            offers->take(offers->context, info.name,
                         info.nt_name[0] != '\0' ? info.nt_name : NULL);
        }
    }
    ntprof_session_close(session);
}

static void
offer_processes(const struct offers *offers)
{
    struct processes processes = {0};
    char pid[16];
    char shown[80];

    (void)processes_read(&processes);
    for (size_t i = 0; i < processes.count; i++) {
        snprintf(pid, sizeof(pid), "%" PRIu32, processes.items[i].pid);
        offers->take(offers->context, pid,
                     text_show(shown, sizeof(shown), processes.items[i].name));
    }
    processes_finish(&processes);
}

static void
offer_processors(const struct offers *offers)
{
    uint64_t online[CPU_LIST_GROUPS] = {0};
    char list[CPU_LIST_TEXT_BYTES];
    char number[24];

    if (!cpu_list_read_online(list, online)) {
        return;
    }
    for (unsigned i = 0; i < 64 * CPU_LIST_GROUPS; i++) {
        if ((online[i / 64] >> i % 64 & 1) != 0) {
            snprintf(number, sizeof(number), "%u", i);
            offers->take(offers->context, number, NULL);
        }
    }
}

/* Offer the cgroups directly below the one that begun names up to its last slash. */
static void
offer_cgroups(const struct offers *offers)
{
    const char *const last = strrchr(offers->begun, '/');
    const int parent = last != NULL ? (int)(last - offers->begun) + 1 : 0;
    const struct dirent *entry;
    char path[512];
    DIR *folder;

    snprintf(path, sizeof(path), CGROUPS "%.*s", parent, offers->begun);
    folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%.*s%s/", parent, offers->begun,
                     entry->d_name);
            offers->take(offers->context, path, NULL);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

/* Whether a name can be typed in a shell without quotes. */
static bool
is_plain(const char *name)
{
    return name[0] != '\0' && (name[0] < '0' || name[0] > '9') &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789_.")] == '\0';
}

/* Offer the functions of the last recording, those with most hits. */
static void
offer_functions(const struct offers *offers)
{
    struct pprof_error error;
    struct profile *const profile = pprof_read(CMD_FILE_DEFAULT, &error);
    struct report_groups groups = {0};

    if (profile != NULL &&
        report_group_rows(profile, &(struct report_grouping){0}, &groups)) {
        for (size_t i = 0; i < groups.count && i < FUNCTIONS_MAX; i++) {
            const struct profile_function *const function = groups.groups[i].function;

            if (function != NULL && is_plain(function->name)) {
                offers->take(offers->context, function->name, "function with hits");
            }
        }
    }
    if (profile != NULL) {
        report_groups_finish(&groups);
    }
    profile_delete(profile);
}

bool
offers_find(const char *kind, const char *begun, offers_take *take, void *context)
{
    static const struct {
        const char *kind;
        void (*offer)(const struct offers *offers);
    } known[] = {
        {"<source>", offer_sources},     {"<pid>", offer_processes},
        {"<cpu>", offer_processors},     {"<cgroup>", offer_cgroups},
        {"<function>", offer_functions},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(kind, known[i].kind) == 0) {
            known[i].offer(&(struct offers){begun, take, context});
            return true;
        }
    }
    return false;
}
