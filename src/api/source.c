/* SPDX-License-Identifier: MIT */
/* api/source.c - sources with their statistics, and back ends. */
#include "api/api.h"
#include "log/log.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

NTSTATUS
ntprof_source_lookup(ntprof_session *session, const char *text, KPROFILE_SOURCE *source)
{
    KPROFILE_SOURCE found;
    NTSTATUS status;

    if (text == NULL || source == NULL) {
        return api_refuse(session, STATUS_INVALID_PARAMETER, "an argument is NULL");
    }
    session = api_enter_named(session, &status);
    if (session == NULL) {
        return status;
    }
    status = session->backend->LookupSource(session->backend_context, text, &found);
    if (NT_SUCCESS(status)) {
        *source = found;
    }
    switch (status) {
    case STATUS_NOT_FOUND:
        return api_leave_because(session, status,
                                 "back end %s has no source \"%.64s\"; "
                                 "ntprof_source_next, or ntprof sources, lists them",
                                 session->backend->Name, text);
    case STATUS_INVALID_PARAMETER:
        return api_leave_because(
            session, status,
            "\"%.64s\": what is behind the colon is not what the source "
            "takes",
            text);
    default:
        return api_leave_because(session, status,
                                 "no source can be made for \"%.64s\": there are too "
                                 "many, or memory is short",
                                 text);
    }
}

NTSTATUS
ntprof_source_next(ntprof_session *session, uint32_t index, KPROFILE_SOURCE *source)
{
    KPROFILE_SOURCE found;
    NTSTATUS status;

    if (source == NULL) {
        return api_refuse(session, STATUS_INVALID_PARAMETER, "an argument is NULL");
    }
    session = api_enter_named(session, &status);
    if (session == NULL) {
        return status;
    }
    status = session->backend->NextSource(session->backend_context, index, &found);
    if (NT_SUCCESS(status)) {
        *source = found;
    }
    return api_leave(session, status);
}

/* Fills in all but the number of a source. */
static void
source_fill(ntprof_source_info *info, const HAL_SOURCE *hal,
            const HAL_SOURCE_STATISTICS *statistics, const KE_STATISTICS *hits)
{
    info->unit = statistics->Unit;
    info->supported = hal->Supported;
    info->kernel_included = statistics->KernelIncluded;
    memcpy(info->name, statistics->Name, sizeof(info->name));
    memcpy(info->nt_name, statistics->NtName, sizeof(info->nt_name));
    memcpy(info->reason, statistics->Reason, sizeof(info->reason));
    info->interval_asked = statistics->IntervalAsked;
    info->interval_granted = hal->Interval;
    info->interval_default = hal->DefaultInterval;
    info->interval_minimum = hal->MinimumInterval;
    info->interval_maximum = hal->MaximumInterval;
    info->interval_measured =
        hits->Taken != 0 ? (double)statistics->Events / (double)hits->Taken : 0;
    info->expected = statistics->Expected;
    info->taken = hits->Taken;
    info->counted = hits->Counted;
    info->outside = hits->Outside;
    info->unwritten = hits->Unwritten;
    info->lost = statistics->Lost;
    info->throttled = statistics->Throttled;
    info->missed = statistics->Missed;
    info->unfinished = statistics->Unfinished;
    info->excluded = statistics->Excluded;
    /* Back end bpf goes on counting while the two are read one after the other. */
    info->outside_kernel = statistics->OutsideKernel < hits->Outside
                               ? statistics->OutsideKernel
                               : hits->Outside;
}

#ifndef NDEBUG
/* Do the statistics add up, as <ntprof/source.h> promises? */
static bool
assert_source_state(const ntprof_source_info *info)
{
    assert(info->taken == info->counted + info->outside);
    assert(info->outside_kernel <= info->outside);
    assert(info->expected == info->taken + info->lost + info->throttled + info->missed +
                                 info->unfinished + info->excluded);
    return true;
}
#endif

NTSTATUS
ntprof_source_get(ntprof_session *session, KPROFILE_SOURCE source,
                  ntprof_source_info *info)
{
    /* The size of the first version. */
    const size_t least = offsetof(ntprof_source_info, unwritten);
    ntprof_source_info full = {.source = source};
    HAL_SOURCE hal;
    HAL_SOURCE_STATISTICS statistics = {0};
    KE_STATISTICS hits;
    NTSTATUS status;

    if (info != NULL && info->size < least) {
        return api_refuse(session, STATUS_INVALID_PARAMETER,
                          "ntprof_source_info.size is %zu: set it to "
                          "sizeof(ntprof_source_info)",
                          info->size);
    }
    if (info == NULL) {
        return api_refuse(session, STATUS_INVALID_PARAMETER, "an argument is NULL");
    }
    session = api_enter_named(session, &status);
    if (session == NULL) {
        return status;
    }
    ExFlushProfiles(&session->system);
    KeQueryStatistics(&session->system.Ke, source, &hits);
    status = session->backend->QuerySourceStatistics(session->backend_context, source,
                                                     hits.Taken, &statistics);
    if (NT_SUCCESS(status)) {
        session->backend->Hal->QuerySource(session->backend_context, source, &hal);
        source_fill(&full, &hal, &statistics, &hits);
        assert(assert_source_state(&full));
        (void)api_copy_out(info, &full, sizeof(full), least);
    }
    return api_leave_because(session, status, "back end %s has no source %u",
                             session->backend->Name, source);
}

NTSTATUS
ntprof_source_set_interval(ntprof_session *session, KPROFILE_SOURCE source,
                           uint64_t interval)
{
    HAL_SOURCE_STATISTICS statistics = {0};
    NTSTATUS status;

    if (session == NULL || interval == 0 || !api_enter(session)) {
        return api_refuse(session, STATUS_INVALID_PARAMETER,
                          "session is NULL, or the interval is 0");
    }
    /* The statistics are not used: SetInterval ignores a source that the back end does
     * not know, and only this call reports it. */
    status = session->backend->QuerySourceStatistics(session->backend_context, source,
                                                     0, &statistics);
    if (NT_SUCCESS(status)) {
        session->backend->Hal->SetInterval(session->backend_context, source, interval);
    }
    return api_leave_because(session, status, "back end %s has no source %u",
                             session->backend->Name, source);
}

NTSTATUS
ntprof_backend_next(uint32_t index, ntprof_backend_info *info)
{
    /* A struct that ends with the name asks for no probe, which takes time; any other
     * has at least the members of the first version. */
    const size_t name_alone = offsetof(ntprof_backend_info, usable);
    const size_t least_whole = offsetof(ntprof_backend_info, error);
    ntprof_backend_info full = {0};
    HAL_PROBE probe = {0};
    uint32_t at = 0;
    size_t least;

    if (info == NULL) {
        return STATUS_INVALID_PARAMETER;
    }
    while (HalBackends[at] != NULL && at < index) {
        at++;
    }
    if (HalBackends[at] == NULL) {
        return STATUS_NOT_FOUND;
    }
    least = info->size == name_alone ? name_alone : least_whole;
    if (info->size >= least_whole) {
        log_enter();
        HalBackends[at]->Probe(&probe);
        log_leave();
    }
    snprintf(full.name, sizeof(full.name), "%s", HalBackends[at]->Name);
    full.usable = probe.Usable;
    full.kernel = probe.Kernel;
    full.global = probe.Global;
    full.watches = HalBackends[at]->Watch != NULL;
    memcpy(full.reason, probe.Reason, sizeof(full.reason));
    memcpy(full.remedy, probe.Remedy, sizeof(full.remedy));
    full.error = probe.Error;
    full.cause = probe.Cause;
    full.simulated = HalBackends[at]->Simulated;
    return api_copy_out(info, &full, sizeof(full), least) ? STATUS_SUCCESS
                                                          : STATUS_INVALID_PARAMETER;
}
