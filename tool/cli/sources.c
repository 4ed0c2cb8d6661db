/* SPDX-License-Identifier: MIT */
/* cli/sources.c - ntprof sources: lists the sources that work here, and why the others
 * do not. */
#include "cli/sources.h"
#include "base/json.h"
#include "base/options.h"
#include "cli/cmd.h"

#include <inttypes.h>
#include <ntprof/ntprof.h>
#include <stdio.h>

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
    if (!json.failed) {
        fwrite(json.data, 1, json.size, stdout);
    }
    buffer_finish(&json);
}

void
sources_query_breakpoints(ntprof_session *session, ntprof_source_info *info)
{
    char name[48];
    KPROFILE_SOURCE source;
    NTSTATUS status;

    *info = (ntprof_source_info){.size = sizeof(*info)};
    snprintf(name, sizeof(name), "breakpoint:0x%" PRIxPTR, (uintptr_t)print_row);
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
    sources_query_breakpoints(session, &info);
    if (json) {
        print_json(&info, false);
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

int
cmd_sources(int argc, char **argv)
{
    bool json = false;
    int exit_status;
    ntprof_session *session;
    NTSTATUS status;

    if (!options_take_json("sources", argc, argv, &json, &exit_status)) {
        return exit_status;
    }
    status = ntprof_session_open(NULL, &session);
    if (!NT_SUCCESS(status)) {
        const char *const why = ntprof_session_error(NULL);

        return cmd_fail("sources", "cannot open a session: %s; see: ntprof doctor",
                        why[0] != '\0' ? why : ntprof_status_text(status));
    }
    print_sources(session, json);
    ntprof_session_close(session);
    return CMD_OK;
}
