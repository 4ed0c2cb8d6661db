/* SPDX-License-Identifier: MIT */
/* api/status.c - statuses in words, and the library's version. */
#include <ntprof/ntprof.h>

const char *
ntprof_status_name(NTSTATUS status)
{
#define STATUS_NAME_CASE(name, value, text) \
    case (NTSTATUS)(value):                 \
        return #name;

    switch (status) {
        NTPROF_STATUS_TABLE(STATUS_NAME_CASE)
    default:
        return "unknown status";
    }
}

const char *
ntprof_status_text(NTSTATUS status)
{
#define STATUS_TEXT_CASE(name, value, text) \
    case (NTSTATUS)(value):                 \
        return text;

    switch (status) {
        NTPROF_STATUS_TABLE(STATUS_TEXT_CASE)
    default:
        return "unknown status";
    }
}

const char *
ntprof_version(void)
{
    return NTPROF_VERSION;
}
