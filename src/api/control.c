/* SPDX-License-Identifier: MIT */
/* api/control.c - watching, delivering and asking about a session. */
#include "api/api.h"
#include "ex/version.h"

#include <stdlib.h>
#include <string.h>

/* ---- callbacks ---- */

NTSTATUS
ntprof_session_set_notify(ntprof_session *session, ntprof_notify *callback,
                          void *context)
{
    if (session == NULL || !api_enter(session)) {
        return api_refuse(session, STATUS_INVALID_PARAMETER, "session is NULL");
    }
    session->notify = callback;
    session->notify_context = context;
    return api_leave(session, STATUS_SUCCESS);
}

NTSTATUS
ntprof_session_set_hits(ntprof_session *session, ntprof_on_hit *callback, void *context)
{
    if (session == NULL || !api_enter(session)) {
        return api_refuse(session, STATUS_INVALID_PARAMETER, "session is NULL");
    }
    if (!session->backend->ReportsHits) {
        return api_leave_because(session, STATUS_NOT_SUPPORTED,
                                 "back end %s reports no single hits: open the session "
                                 "with back end perf",
                                 session->backend->Name);
    }
    session->on_hit = callback;
    session->on_hit_context = context;
    return api_leave(session, STATUS_SUCCESS);
}

NTSTATUS
ntprof_session_set_stacks(ntprof_session *session, ntprof_on_stack *callback,
                          void *context)
{
    if (session == NULL || !api_enter(session)) {
        return api_refuse(session, STATUS_INVALID_PARAMETER, "session is NULL");
    }
    if (!session->stacks) {
        return api_leave_because(session, STATUS_NOT_SUPPORTED,
                                 "the session copies no stacks: open it with "
                                 "ntprof_session_options.stack_bytes");
    }
    session->on_stack = callback;
    session->on_stack_context = context;
    return api_leave(session, STATUS_SUCCESS);
}

/* ---- watches ---- */

/* Sets the processors to watch on, one word for each group. A watch of all processes
 * includes processors that become active later. */
static NTSTATUS
control_fill_processors(const ntprof_session *session, bool all,
                        const ntprof_watch_options *options, ULONG64 *words,
                        ULONG groups)
{
    const HOST *const host = &session->host;

    for (ULONG group = 0; options->affinity_count == 0 && group < groups; group++) {
        words[group] =
            all ? ~(ULONG64)0
                : host->Table->ActiveProcessors(host->Context, (USHORT)group);
    }
    for (uint32_t i = 0; i < options->affinity_count; i++) {
        const GROUP_AFFINITY *const affinity = &options->affinity[i];

        if (affinity->Group >= groups || affinity->Mask == 0 ||
            (affinity->Mask &
             ~host->Table->ActiveProcessors(host->Context, affinity->Group)) != 0 ||
            affinity->Reserved[0] != 0 || affinity->Reserved[1] != 0 ||
            affinity->Reserved[2] != 0) {
            return STATUS_INVALID_PARAMETER;
        }
        words[affinity->Group] |= affinity->Mask;
    }
    return STATUS_SUCCESS;
}

/* Gives each source that is to be watched its statistics. STATUS_NOT_SUPPORTED if the
 * back end lacks one. */
static NTSTATUS
control_register_sources(ntprof_session *session, const ntprof_watch_options *options)
{
    for (uint32_t i = 0; i < options->source_count; i++) {
        HAL_SOURCE source;
        NTSTATUS status;

        session->backend->Hal->QuerySource(session->backend_context,
                                           options->sources[i], &source);
        if (!source.Supported) {
            return STATUS_NOT_SUPPORTED;
        }
        status = KeRegisterSource(&session->system.Ke, options->sources[i]);
        if (!NT_SUCCESS(status)) {
            return status;
        }
    }
    return STATUS_SUCCESS;
}

/* Have the back end watch a process, or all if it is NULL. */
static NTSTATUS
control_watch(ntprof_session *session, const EPROCESS *process,
              const ntprof_watch_options *options)
{
    const ULONG groups = session->host.Table->GroupCount(session->host.Context);
    ULONG64 *const words = calloc(groups, sizeof(*words));
    const HAL_WATCH watch = {
        .ProcessId = process != NULL ? process->Pcb.ProcessId : 0,
        .Flags = options->flags,
        .SourceCount = options->source_count,
        .Sources = options->sources,
        .ProcessorCount = groups * 64,
        .Processors = words,
    };
    NTSTATUS status;

    if (words == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    status = control_fill_processors(session, process == NULL, options, words, groups);
    if (NT_SUCCESS(status)) {
        status = control_register_sources(session, options);
    }
    if (NT_SUCCESS(status) && process != NULL &&
        PsIsProcessGone(&session->system.Ps, process)) {
        status = STATUS_PROCESS_IS_TERMINATING;
    }
    if (NT_SUCCESS(status)) {
        status = session->backend->Watch(session->backend_context, &watch);
    }
    free(words);
    return status;
}

/* Returns why the options are invalid, or NULL. */
static const char *
control_refuse_options(HANDLE process, const ntprof_watch_options *options)
{
    const unsigned known = NTPROF_WATCH_DESCENDANTS | NTPROF_WATCH_ON_EXEC;

    if (options->size < sizeof(*options)) {
        return "ntprof_watch_options.size is less than sizeof(ntprof_watch_options)";
    }
    if ((options->flags & ~known) != 0) {
        return "ntprof_watch_options.flags has bits that are none of NTPROF_WATCH_...";
    }
    if (process == NULL && options->flags != 0) {
        return "a watch of all processes (process NULL) takes no flags";
    }
    if (options->reserved != 0) {
        return "ntprof_watch_options.reserved must be 0";
    }
    if ((options->sources == NULL && options->source_count != 0) ||
        (options->affinity == NULL && options->affinity_count != 0)) {
        return "sources or affinity is NULL, and its count is not 0";
    }
    return NULL;
}

/* Explains why a watch failed, for statuses for which no lower layer sets an error
 * text; else "". */
static const char *
control_explain_watch(const ntprof_session *session, NTSTATUS status)
{
    if (session->backend->Watch == NULL) {
        return "the session's back end counts profile objects and watches no process: "
               "open the session with another one; ntprof_backend_next says which "
               "watch";
    }
    switch (status) {
    case STATUS_INVALID_PARAMETER:
        return "affinity names a group or processor that is not active, no processor, "
               "or "
               "has Reserved members that are not 0";
    case STATUS_NOT_SUPPORTED:
        return "the back end cannot watch all processes, or has not all the sources: "
               "ntprof_source_get says why";
    default:
        return "";
    }
}

NTSTATUS
ntprof_session_watch(ntprof_session *session, HANDLE process,
                     const ntprof_watch_options *options)
{
    static const ntprof_watch_options none = {.size = sizeof(none)};
    EPROCESS *body = NULL;
    NTSTATUS status = STATUS_SUCCESS;
    const char *why;

    if (options == NULL) {
        options = &none;
    }
    why = control_refuse_options(process, options);
    if (session == NULL || why != NULL || !api_enter(session)) {
        return api_refuse(session, STATUS_INVALID_PARAMETER, "%s",
                          why != NULL ? why : "session is NULL");
    }
    if (session->backend->Watch == NULL ||
        (process == NULL && (session->backend->Hal->Capabilities & HAL_GLOBAL) == 0)) {
        status = STATUS_NOT_SUPPORTED;
    } else if (process != NULL) {
        status = ExReferenceProcess(&session->system, UserMode, process, &body);
    }
    if (NT_SUCCESS(status)) {
        status = control_watch(session, body, options);
        if (body != NULL) {
            ObDereferenceObject(&session->system.Ob, body);
        }
        api_wake_thread(session);
    }
    return api_leave_because(session, status, "%s",
                             control_explain_watch(session, status));
}

/* ---- delivery ---- */

NTSTATUS
ntprof_session_flush(ntprof_session *session)
{
    NTSTATUS status;

    session = api_enter_named(session, &status);
    if (session == NULL) {
        return status;
    }
    ExFlushProfiles(&session->system);
    return api_leave(session, STATUS_SUCCESS);
}

NTSTATUS
ntprof_session_freeze(ntprof_session *session)
{
    if (session == NULL || !api_enter(session)) {
        return api_refuse(session, STATUS_INVALID_PARAMETER, "session is NULL");
    }
    if (session->backend->Freeze == NULL) {
        return api_leave_because(session, STATUS_NOT_SUPPORTED,
                                 "back end %s has hits in calls alone: nothing comes "
                                 "between them",
                                 session->backend->Name);
    }
    session->backend->Freeze(session->backend_context);
    return api_leave(session, STATUS_SUCCESS);
}

int
ntprof_session_fd(ntprof_session *session)
{
    NTSTATUS status;

    session = api_named_session(session, &status);
    return session == NULL ? -1
                           : session->backend->Descriptor(session->backend_context);
}

NTSTATUS
ntprof_session_poll(ntprof_session *session, int *wait_ms)
{
    int next_ms;
    NTSTATUS status;

    session = api_enter_named(session, &status);
    if (session == NULL) {
        return status;
    }
    next_ms = api_deliver(session);
    if (wait_ms != NULL) {
        *wait_ms = next_ms;
    }
    return api_leave(session, STATUS_SUCCESS);
}

/* ---- information ---- */

/* Fills in why the simulated NT has halted, if it has. */
static void
control_fill_halt(const ntprof_session *session, ntprof_session_info *info)
{
    KE_HALT halt;

    if (KeQueryHalt(&session->system.Ke, &halt)) {
        info->halt = halt.Kind;
        info->bug_check = halt.Code;
        memcpy(info->bug_check_parameters, halt.Parameters, sizeof(halt.Parameters));
    }
}

NTSTATUS
ntprof_session_get_info(ntprof_session *session, ntprof_session_info *info)
{
    /* The size of the first version. */
    const size_t least = offsetof(ntprof_session_info, abi);
    ntprof_session_info full = {0};
    HAL_STATISTICS statistics = {0};
    NTSTATUS status;

    if (info != NULL && info->size < least) {
        return api_refuse(session, STATUS_INVALID_PARAMETER,
                          "ntprof_session_info.size is %zu: set it to "
                          "sizeof(ntprof_session_info)",
                          info->size);
    }
    if (info == NULL) {
        return api_refuse(session, STATUS_INVALID_PARAMETER, "an argument is NULL");
    }
    session = api_named_session(session, &status);
    if (session == NULL) {
        return status;
    }
    if (!api_enter_beside(session)) {
        return api_refuse(session, STATUS_INVALID_PARAMETER, "%s", "");
    }
    session->backend->QueryStatistics(session->backend_context, &statistics);
    strncpy(full.backend, session->backend->Name, sizeof(full.backend) - 1);
    memcpy(full.better, session->better, sizeof(full.better));
    memcpy(full.limits, session->limits, sizeof(full.limits));
    full.processors = ExCountProcessors(&session->system);
    full.profiles = session->system.ProfileCount;
    full.started = session->system.StartedCount;
    full.start_limit = ExStartLimit(&session->system);
    full.processes = statistics.Processes;
    full.late = statistics.Late;
    full.ring_bytes = statistics.RingBytes;
    full.unread = statistics.Unread;
    full.unnumbered = statistics.Unnumbered;
    full.counter_bytes = statistics.CounterBytes;
    full.stack_bytes = statistics.StackBytes;
    full.delivery_ns = session->delivery_ns;
    full.deliveries = session->deliveries;
    full.nt_version = session->system.Version->Number;
    full.abi = session->system.Abi.Number;
    control_fill_halt(session, &full);
    (void)api_copy_out(info, &full, sizeof(full), least);
    return api_leave(session, STATUS_SUCCESS);
}
