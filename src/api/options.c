/* SPDX-License-Identifier: MIT */
/* api/options.c - the options of a session: read up to the size of the caller's struct,
 * and checked. */
#include "api/api.h"
#include "ex/version.h"

#include <assert.h>
#include <string.h>

enum {
    OPTION_FLAGS = NTPROF_SESSION_POLLED | NTPROF_SESSION_USER_ONLY |
                   NTPROF_SESSION_WOW64 | NTPROF_SESSION_FINE_BUCKETS
};

static NTSTATUS
options_refuse_size(size_t size)
{
    return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                      "ntprof_session_options.size is %zu: set it to "
                      "sizeof(ntprof_session_options)",
                      size);
}

/* Copy the caller's options, whose struct may be that of another version. Members that
 * it does not have are 0; bytes that this library does not know must be 0. */
static NTSTATUS
options_copy(const ntprof_session_options *from, ntprof_session_options *options)
{
    const size_t first = offsetof(ntprof_session_options, abi); /* the first version */
    const char *const bytes = (const char *)from;

    if (from->size < first) {
        return options_refuse_size(from->size);
    }
    for (size_t i = sizeof(*options); i < from->size; i++) {
        if (bytes[i] != 0) {
            return api_refuse(
                NULL, STATUS_INVALID_PARAMETER,
                "an option is set that this library (%s) does not know yet",
                ntprof_version());
        }
    }
    memcpy(options, from,
           from->size < sizeof(*options) ? from->size : sizeof(*options));
    options->size = sizeof(*options);
    return STATUS_SUCCESS;
}

/* Checks version, word size and flags. */
static NTSTATUS
options_check_rules(const ntprof_session_options *options)
{
    const bool x64_host = sizeof(void *) > 4;

    if (ExFindVersion(options->nt_version) == NULL) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "nt_version %u is none of NTPROF_NT_...; "
                          "ntprof_nt_version_lookup finds one by its name",
                          options->nt_version);
    }
    if (options->abi > NTPROF_ABI_X86) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "abi %u is none of NTPROF_ABI_...", options->abi);
    }
    if (options->abi == NTPROF_ABI_X64 && !x64_host) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "a 32-bit program has no x64 sessions");
    }
    if ((options->flags & NTPROF_SESSION_WOW64) != 0 &&
        (options->abi == NTPROF_ABI_X86 || !x64_host)) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "NTPROF_SESSION_WOW64 is of a 64-bit NT: it needs "
                          "NTPROF_ABI_X64");
    }
    /* In x86 sessions BucketSize 0 means a code segment, and checks of old versions
     * divide by the smallest bucket. */
    if ((options->flags & NTPROF_SESSION_FINE_BUCKETS) != 0 &&
        (options->nt_version != NTPROF_NT_NEWEST || options->abi == NTPROF_ABI_X86 ||
         !x64_host)) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "NTPROF_SESSION_FINE_BUCKETS is not NT's: it needs "
                          "NTPROF_NT_NEWEST and NTPROF_ABI_X64");
    }
    return STATUS_SUCCESS;
}

/* Checks the members about stacks. */
static NTSTATUS
options_check_stacks(const ntprof_session_options *options)
{
    const bool x86 = options->abi == NTPROF_ABI_X86 ||
                     (options->abi == NTPROF_ABI_HOST && sizeof(void *) == 4);

    if (options->stack_sources == NULL && options->stack_source_count != 0) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "stack_source_count is %u and stack_sources NULL",
                          options->stack_source_count);
    }
    if (options->stack_bytes == 0) {
        return options->stack_source_count == 0
                   ? STATUS_SUCCESS
                   : api_refuse(NULL, STATUS_INVALID_PARAMETER,
                                "stack_sources without stack_bytes");
    }
    if (options->stack_bytes < NTPROF_STACK_BYTES_MIN) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "stack_bytes is %u: at least %d are needed",
                          options->stack_bytes, (int)NTPROF_STACK_BYTES_MIN);
    }
    if (options->stack_source_count == 0) {
        return api_refuse(
            NULL, STATUS_INVALID_PARAMETER,
            "stack_bytes without stack_sources: name the source \"time\"");
    }
    if (x86) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "stacks need NTPROF_ABI_X64: hits of x86 sessions have the "
                          "registers of their segment");
    }
    return STATUS_SUCCESS;
}

static NTSTATUS
options_check(const ntprof_session_options *options)
{
    NTSTATUS status;

    if ((options->flags & ~(uint32_t)OPTION_FLAGS) != 0) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "flags 0x%x are none of NTPROF_SESSION_...",
                          options->flags & ~(uint32_t)OPTION_FLAGS);
    }
    if (options->reserved != 0) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "ntprof_session_options.reserved must be 0");
    }
    if (options->intervals == NULL && options->interval_count != 0) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "interval_count is %zu and intervals NULL",
                          options->interval_count);
    }
    status = options_check_rules(options);
    return NT_SUCCESS(status) ? options_check_stacks(options) : status;
}

NTSTATUS
api_read_options(const ntprof_session_options *from, ntprof_session_options *options)
{
    NTSTATUS status;

    *options = (ntprof_session_options){.size = sizeof(*options)};
    if (from == NULL) {
        return STATUS_SUCCESS;
    }
    status = options_copy(from, options);
    assert(options->size == sizeof(*options));
    return NT_SUCCESS(status) ? options_check(options) : status;
}
