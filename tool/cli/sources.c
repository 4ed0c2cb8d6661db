/* SPDX-License-Identifier: MIT */
/* cli/sources.c - ntprof sources: lists the sources that work here, and why the others
 * do not. */
#include "base/json.h"
#include "base/options.h"
#include "cli/cmd.h"
#include "doctor/doctor.h"

#include <inttypes.h>
#include <ntprof/ntprof.h>
#include <stdio.h>

/* Write an interval in microseconds for a source of time, else as a number of
 * events. */
static void
print_interval(char *text, size_t size, const ntprof_source_info *info,
               uint64_t interval)
{
    if (info->unit == NTPROF_UNIT_100NS) {
        snprintf(text, size, "%.4gus", (double)interval / 10);
    } else {
        snprintf(text, size, "%" PRIu64, interval);
    }
}

static void
print_row(const ntprof_source_info *info)
{
    char least[32];
    char usual[32];

    print_interval(least, sizeof(least), info, info->interval_minimum);
    print_interval(usual, sizeof(usual), info, info->interval_default);
    if (info->supported) {
        printf("%-24s %-28s %10s %10s  %s\n", info->name,
               info->nt_name[0] != '\0' ? info->nt_name : "-", usual, least,
               info->kernel_included ? "user and kernel" : "user mode");
    } else {
        printf("%-24s %-28s %10s %10s  no: %s\n", info->name,
               info->nt_name[0] != '\0' ? info->nt_name : "-", "-", "-", info->reason);
    }
}

static void
print_json(const ntprof_source_info *info, bool first)
{
    struct buffer json = {0};

    buffer_append_text(&json, first ? "\n  {" : ",\n  {");
    json_put_text_member(&json, "name", info->name);
    json_put_text_member(&json, "nt_name", info->nt_name);
    json_put_bool_member(&json, "supported", info->supported);
    json_put_text_member(&json, "unit",
                         info->unit == NTPROF_UNIT_100NS ? "100ns" : "events");
    json_put_number_member(&json, "default", info->interval_default);
    json_put_number_member(&json, "minimum", info->interval_minimum);
    json_put_number_member(&json, "maximum", info->interval_maximum);
    json_put_text_member(&json, "reason", info->reason);
    json_end(&json, '}');
    (void)json_finish(&json, stdout);
}

static void
print_sources(ntprof_session *session, bool json)
{
    KPROFILE_SOURCE source;
    ntprof_source_info info;

    if (json) {
        printf("{\"schema\":\"ntprof.sources\",\"version\":1,\"sources\":[");
    } else {
        printf("%-24s %-28s %10s %10s  %s\n", "SOURCE", "NT NAME", "DEFAULT", "LEAST",
               "WORKS");
    }
    for (uint32_t i = 0; NT_SUCCESS(ntprof_source_next(session, i, &source)); i++) {
        info = (ntprof_source_info){.size = sizeof(info)};
        if (!NT_SUCCESS(ntprof_source_get(session, source, &info))) {
            continue;
        }
        if (json) {
            print_json(&info, i == 0);
        } else {
            print_row(&info);
        }
    }
    doctor_query_breakpoints(session, &info);
    if (json) {
        print_json(&info, /* first */ false);
        printf("\n]}\n");
    } else {
        print_row(&info);
        printf("\nbreakpoint: executions of the instruction at an address. Also "
               "raw:0xCONFIG (an event of the PMU),\nand for root "
               "uprobe:IMAGE+0xOFFSET (the same in a file); "
               "function:NAME for either.\nIntervals: microseconds of "
               "processor time for source time, else events for a hit.\n");
    }
}

static const char help[] =
    "Examples\n"
    "  ntprof sources                  what can interrupt here\n"
    "  ntprof sources --json           the same for programs\n"
    "\n"
    "usage: ntprof sources [--json]\n"
    "\n"
    "Lists what can interrupt: name for -e, NT's name, intervals, and whether it\n"
    "works on this machine for this user; if not, why.\n";

static const struct options_row rows[] = {
    {"json", 0, NULL, "as JSON", NULL, OPTIONS_CALL(options_take_flag)},
    {0},
};

const struct options_syntax cmd_sources_options = {
    .command = "sources", .help = help, .groups = {{rows, 0}}};

int
cmd_sources(int argc, char **argv)
{
    /* The back end is asked for by name, so that a failure does not come with advice
     * for programs that use the library. */
    const ntprof_session_options by_name = {.size = sizeof(by_name), .backend = "perf"};
    struct options_words words;
    bool json = false;
    int exit_status;
    ntprof_session *session;
    NTSTATUS status;

    if (!options_take(&cmd_sources_options, argc, argv, &json, &words, &exit_status)) {
        return exit_status;
    }
    status = ntprof_session_open(&by_name, &session);
    if (!NT_SUCCESS(status)) {
        const char *const why = ntprof_session_error(NULL);

        return cmd_fail("sources", "cannot open a session: %s; see: ntprof doctor",
                        why[0] != '\0' ? why : ntprof_status_text(status));
    }
    print_sources(session, json);
    ntprof_session_close(session);
    return CMD_OK;
}
