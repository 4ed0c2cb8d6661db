/* SPDX-License-Identifier: MIT */
/*
 * api/reason.c - error texts: why a call failed, where its status does not say.
 *
 * Each thread has a text of its own, because another thread's failure must not change
 * it. The text comes from the host or the back end that refused, else from the function
 * that the program called, else from the status.
 */
#include "api/api.h"
#include "ex/version.h"
#include "hal/linux/refusal.h"
#include "host/linux/linux.h"
#include "log/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static _Thread_local struct {
    const ntprof_session *session; /* NULL: of a call without a session */
    char text[1024];
} thread_reason;

/* Set the calling thread's text, and the session of the call that failed. */
static void
reason_set(const ntprof_session *session, const char *format, va_list arguments)
{
    thread_reason.session = session;
    vsnprintf(thread_reason.text, sizeof(thread_reason.text), format, arguments);
}

/* Set the calling thread's text; the session that it is about stays. */
static void
reason_say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(thread_reason.text, sizeof(thread_reason.text), format, arguments);
    va_end(arguments);
}

static void
reason_log(NTSTATUS status)
{
    LOG_DEBUG("a call failed: %s%s%s", ntprof_status_name(status),
              thread_reason.text[0] != '\0' ? ": " : "", thread_reason.text);
}

NTSTATUS
api_refuse(const ntprof_session *session, NTSTATUS status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    reason_set(session, format, arguments);
    va_end(arguments);
    if (session != NULL && session->owner != api_process_id()) {
        reason_say("the session is of the process that forked this one, which can open "
                   "one of its own: ntprof_session_open");
    } else if (session != NULL &&
               __atomic_load_n(&session->abandoned, __ATOMIC_RELAXED)) {
        reason_say("a notification of the session did not return, but was left by "
                   "longjmp or pthread_exit: it has stopped for good");
    }
    log_enter();
    reason_log(status);
    log_leave();
    return status;
}

const char *
ntprof_session_error(ntprof_session *session)
{
    return session == NULL || thread_reason.session == session ? thread_reason.text
                                                               : "";
}

bool
api_describe_halt(const ntprof_session *session, char *text, size_t size)
{
    const char *const version = session->system.Version->Name;
    KE_HALT halt;

    if (!KeQueryHalt(&session->system.Ke, &halt)) {
        return false;
    }
    if (halt.Kind == KE_HALT_CORRUPTION) {
        snprintf(text, size,
                 "NT %s would have corrupted memory at 0x%llx in silence, behind a "
                 "profile's "
                 "counters; nothing was written, and the session has stopped",
                 version, (unsigned long long)halt.Parameters[0]);
    } else {
        snprintf(
            text, size,
            "NT %s would have stopped with bug check 0x%02X (0x%llx, 0x%llx, 0x%llx, "
            "0x%llx); nothing was written, and the session has stopped",
            version, halt.Code, (unsigned long long)halt.Parameters[0],
            (unsigned long long)halt.Parameters[1],
            (unsigned long long)halt.Parameters[2],
            (unsigned long long)halt.Parameters[3]);
    }
    return true;
}

/* ---- what the host refused ---- */

/* Set the text "what: reason; to allow: remedy" for a negative errno of the kernel. */
static void
explain_error(const char *what, int error, enum perf_scope scope)
{
    struct perf_refusal refusal;

    perf_refusal_explain(error, scope, &refusal);
    reason_say("%s: %s%s%s", what, refusal.reason,
               refusal.remedy[0] != '\0' ? "; to allow: " : "", refusal.remedy);
}

/* Explain why a process could not be looked up or inspected. */
static void
explain_process(const struct host_linux_refusal *refusal)
{
    char what[64];

    if (refusal->status == STATUS_ACCESS_DENIED) {
        reason_say(
            "Linux does not let the caller look into process %llu: it is another "
            "user's, or may not be traced; run as its user, or grant "
            "CAP_SYS_PTRACE",
            (unsigned long long)refusal->subject);
        return;
    }
    snprintf(what, sizeof(what), "cannot look process %llu up",
             (unsigned long long)refusal->subject);
    explain_error(what, refusal->error, PERF_SCOPE_PROCESS);
}

/* Explain why a buffer could not be locked. */
static void
explain_lock(const struct host_linux_refusal *refusal)
{
    const unsigned long long buffer = refusal->subject;
    struct rlimit limit = {0};
    char what[64];

    switch (-refusal->error) {
    case EFAULT:
        reason_say(
            "the buffer at 0x%llx is not, or no longer, memory of the caller that "
            "can be written",
            buffer);
        break;
    case EAGAIN:
        getrlimit(RLIMIT_MEMLOCK, &limit);
        reason_say("the buffer at 0x%llx cannot be locked in memory: RLIMIT_MEMLOCK is "
                   "%llu bytes, memory is short, or another thread unmapped it; raise "
                   "the limit (ulimit -l), grant CAP_IPC_LOCK, or take the buffer from "
                   "ntprof_buffer_alloc",
                   buffer, (unsigned long long)limit.rlim_cur);
        break;
    default:
        snprintf(what, sizeof(what), "cannot lock the buffer at 0x%llx", buffer);
        explain_error(what, refusal->error, PERF_SCOPE_SELF);
        break;
    }
}

NTSTATUS
api_lack(const char *what, int error)
{
    thread_reason.session = NULL;
    explain_error(what, error, PERF_SCOPE_SELF);
    reason_log(STATUS_INSUFFICIENT_RESOURCES);
    return STATUS_INSUFFICIENT_RESOURCES;
}

/* Explain a refusal by the host. Returns false, and does nothing, if the status does
 * not come from one. */
static bool
explain_host(const ntprof_session *session, NTSTATUS status)
{
    const struct host_linux_refusal *const refusal = host_linux_refusal(&session->host);

    if (refusal->status != status) {
        return false;
    }
    switch (refusal->what) {
    case HOST_REFUSED_PRIVILEGE:
        explain_error("all processes and intervals need events of whole processors",
                      refusal->error, PERF_SCOPE_ALL);
        return true;
    case HOST_REFUSED_KERNEL:
        /* What a start would need is named, too: events of whole processors. */
        explain_error("the region reaches into kernel space, which the caller may not "
                      "measure",
                      refusal->error,
                      session->system.FailedCheck == EX_CHECK_GLOBAL_KERNEL_SPACE
                          ? PERF_SCOPE_ALL
                          : PERF_SCOPE_KERNEL);
        return true;
    case HOST_REFUSED_PROCESS:
        explain_process(refusal);
        return true;
    case HOST_REFUSED_LOCK:
        explain_lock(refusal);
        return true;
    case HOST_REFUSED_ADDRESS:
        reason_say(
            "what the call needs at 0x%llx is not memory of the caller that can be "
            "used so",
            (unsigned long long)refusal->subject);
        return true;
    default:
        return false;
    }
}

/* ---- leaving a call ---- */

/* Explains statuses that mean the same in all calls. */
static void
explain_status(const ntprof_session *session, NTSTATUS status)
{
    switch (status) {
    case STATUS_INVALID_SYSTEM_SERVICE:
        reason_say("NT %s does not have this call; ntprof_session_options.nt_version "
                   "chooses another version",
                   session->system.Version->Name);
        break;
    case STATUS_ACCESS_DENIED:
        reason_say(
            "the handle has not the access that the call needs: "
            "PROCESS_QUERY_INFORMATION to profile or watch a process, "
            "PROCESS_DUP_HANDLE to duplicate, PROFILE_CONTROL to start and stop; a "
            "duplicate has no more than its source");
        break;
    case STATUS_INSUFFICIENT_RESOURCES:
        reason_say("out of memory");
        break;
    case STATUS_ACCESS_VIOLATION:
        reason_say("an address that the call needs is not in user space");
        break;
    default:
        break;
    }
}

/* Sets why the call failed. format: the text of the function that the program called,
 * or "". */
static void
explain(const ntprof_session *session, NTSTATUS status, const char *format,
        va_list arguments)
{
    const char *const why = session->backend->Error(session->backend_context);

    reason_set(session, format, arguments);
    if (status == STATUS_SYSTEM_SHUTDOWN) {
        (void)api_describe_halt(session, thread_reason.text,
                                sizeof(thread_reason.text));
    } else if (explain_host(session, status)) {
        return;
    } else if (why[0] != '\0') {
        reason_say("%s", why);
    } else if (thread_reason.text[0] == '\0') {
        explain_status(session, status);
    }
}

NTSTATUS
api_leave_because(ntprof_session *session, NTSTATUS status, const char *format, ...)
{
    va_list arguments;

    api_notice_halt(session);
    if (!NT_SUCCESS(status)) {
        va_start(arguments, format);
        explain(session, status, format, arguments);
        va_end(arguments);
        reason_log(status);
    }
    (void)api_unlock(session);
    return status;
}

NTSTATUS
api_leave(ntprof_session *session, NTSTATUS status)
{
    return api_leave_because(session, status, "%s", "");
}
