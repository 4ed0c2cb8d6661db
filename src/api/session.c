/* SPDX-License-Identifier: MIT */
/*
 * api/session.c - opening, using and closing sessions.
 *
 * The only mutable globals of the library above the host: the default session, and each
 * thread's current one.
 */
#include "api/api.h"
#include "ex/version.h"
#include "host/linux/linux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t default_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t default_once = PTHREAD_ONCE_INIT;
static ntprof_session *default_session;
static _Thread_local ntprof_session *thread_session;

bool
api_copy_out(void *to, const void *from, size_t bytes, size_t least)
{
    size_t size;

    memcpy(&size, to, sizeof(size));
    if (size < least) {
        return false;
    }
    memcpy((char *)to + sizeof(size), (const char *)from + sizeof(size),
           (size < bytes ? size : bytes) - sizeof(size));
    return true;
}

static void
session_abandon(ntprof_session *session)
{
    __atomic_store_n(&session->abandoned, true, __ATOMIC_RELAXED);
}

bool
api_lock_beside(ntprof_session *session)
{
    const int failure = pthread_mutex_lock(&session->lock);

    if (failure != 0) {
        session_abandon(session);
        if (failure == EOWNERDEAD) {
            /* From now on no thread can lock it. */
            pthread_mutex_unlock(&session->lock);
        }
        return false;
    }
    if (session->notify_frame != NULL &&
        (uintptr_t)__builtin_frame_address(0) > (uintptr_t)session->notify_frame) {
        session_abandon(session);
    }
    if (!session->abandoned) {
        return true;
    }
    /* Also releases the lock that the abandoned delivery took; fails when it is not
     * locked any more.
     */
    while (pthread_mutex_unlock(&session->lock) == 0) {
    }
    return false;
}

bool
api_lock(ntprof_session *session)
{
    while (api_lock_beside(session)) {
        if (!session->paused) {
            return true;
        }
        /* A failure, without the lock, is found when it is locked again. */
        (void)pthread_cond_wait(&session->resumed, &session->lock);
        (void)pthread_mutex_unlock(&session->lock);
    }
    return false;
}

static void
clear_errors(ntprof_session *session)
{
    session->backend->ClearError(session->backend_context);
    host_linux_forget_refusal(&session->host);
}

bool
api_enter(ntprof_session *session)
{
    if (session->owner != api_process_id() || !api_lock(session)) {
        return false;
    }
    clear_errors(session);
    return true;
}

bool
api_enter_beside(ntprof_session *session)
{
    if (session->owner != api_process_id() || !api_lock_beside(session)) {
        return false;
    }
    clear_errors(session);
    return true;
}

void
api_pause(void *context, ULONG64 wait_ns)
{
    ntprof_session *const session = context;
    const struct timespec wait = {.tv_sec = (time_t)(wait_ns / 1000000000u),
                                  .tv_nsec = (long)(wait_ns % 1000000000u)};
    int cancel_state;

    /* A thread that ended here would leave the session paused for ever. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    session->paused = true;
    pthread_mutex_unlock(&session->lock);
    nanosleep(&wait, NULL);
    if (pthread_mutex_lock(&session->lock) != 0) {
        session_abandon(session);
    }
    session->paused = false;
    pthread_cond_broadcast(&session->resumed);
    pthread_setcancelstate(cancel_state, NULL);
    clear_errors(session);
}

void
api_notice_halt(ntprof_session *session)
{
    char text[512];

    if (session->halt_logged || !ExNoticeHalt(&session->system)) {
        return;
    }
    session->halt_logged = true;
    if (session->log != NULL && api_describe_halt(session, text, sizeof(text))) {
        session->log(session->log_context, NTPROF_LOG_ERROR, text);
    }
}

/* Called by the back end within a delivery, with the session locked. */
static void
session_notify(void *context, const ntprof_notification *notification)
{
    ntprof_session *const session = context;
    ntprof_session *const before = thread_session;
    void *const frame_before = session->notify_frame;

    if (notification->kind == HAL_UNWATCHED_EXEC) {
        ExEndAddressSpace(&session->system, notification->pid);
        return;
    }
    ExBeforeNotification(&session->system, notification);
    if (session->notify != NULL) {
        thread_session = session;
        session->notify_frame = __builtin_frame_address(0);
        session->notify(session->notify_context, notification);
        session->notify_frame = frame_before;
        thread_session = before;
    }
    ExAfterNotification(&session->system, notification);
}

/* Appends "reason; remedy" to text, after what is there already. */
static void
session_add_reason(char *text, size_t size, const char *name, const HAL_PROBE *probe)
{
    const size_t used = strlen(text);

    if (probe->Reason[0] != '\0') {
        snprintf(text + used, size - used, "%s%s%s%s%s%s", used != 0 ? "; " : "", name,
                 name[0] != '\0' ? ": " : "", probe->Reason,
                 probe->Remedy[0] != '\0' ? "; to allow: " : "", probe->Remedy);
    }
}

static NTSTATUS
session_try_backend(ntprof_session *session, const HAL_BACKEND *backend,
                    const HAL_OPEN *open)
{
    HAL_PROBE *const probe = open->Probe;
    NTSTATUS status;

    *probe = (HAL_PROBE){0};
    status = backend->Open(open, &session->backend_context);
    if (NT_SUCCESS(status)) {
        session->backend = backend;
        session_add_reason(session->limits, sizeof(session->limits), "", probe);
        return status;
    }
    session_add_reason(session->better, sizeof(session->better), backend->Name, probe);
    if (!probe->Usable) {
        return probe->Shortage ? STATUS_INSUFFICIENT_RESOURCES : STATUS_NOT_SUPPORTED;
    }
    return status;
}

static NTSTATUS
session_refuse_backend(const char *name)
{
    char names[128] = "";

    for (size_t i = 0; HalBackends[i] != NULL; i++) {
        const size_t used = strlen(names);

        snprintf(names + used, sizeof(names) - used, "%s%s", used != 0 ? ", " : "",
                 HalBackends[i]->Name);
    }
    return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                      "there is no back end \"%.32s\"; there are %s", name, names);
}

/* Opens the back end that the options name, or else the first usable one that is not
 * only chosen by name. */
static NTSTATUS
session_choose_backend(ntprof_session *session, const ntprof_session_options *options)
{
    HAL_PROBE probe;
    const HAL_OPEN open = {
        .Ke = &session->system.Ke,
        .Processors = {.Context = session->host.Context,
                       .GroupCount = session->host.Table->GroupCount,
                       .ActiveProcessors = session->host.Table->ActiveProcessors},
        .Notify = session_notify,
        .NotifyContext = session,
        .Pause = api_pause,
        .Selectors = options->abi == NTPROF_ABI_X86 ||
                     (options->abi == NTPROF_ABI_HOST && sizeof(void *) == 4),
        .UserOnly = (options->flags & NTPROF_SESSION_USER_ONLY) != 0,
        .CgroupFd = session->cgroup_fd >= 0 ? &session->cgroup_fd : NULL,
        .SimulationSeed = options->simulation_seed,
        .Probe = &probe,
    };
    NTSTATUS status = STATUS_NOT_SUPPORTED;
    bool shortage = false;

    for (size_t i = 0; HalBackends[i] != NULL; i++) {
        const HAL_BACKEND *const backend = HalBackends[i];
        const bool wanted = options->backend != NULL
                                ? strcmp(options->backend, backend->Name) == 0
                                : !backend->ByName;

        if (!wanted) {
            continue;
        }
        status = session_try_backend(session, backend, &open);
        if (NT_SUCCESS(status)) {
            return status;
        }
        shortage |= status == STATUS_INSUFFICIENT_RESOURCES;
        if (options->backend != NULL) {
            return api_refuse(NULL, status, "%s", session->better);
        }
    }
    if (options->backend != NULL) {
        return session_refuse_backend(options->backend);
    }
    /* With a shortage, a later attempt may find a back end. */
    return api_refuse(NULL, shortage ? STATUS_INSUFFICIENT_RESOURCES : status, "%s",
                      session->better);
}

static NTSTATUS
session_set_intervals(ntprof_session *session, const ntprof_session_options *options)
{
    for (size_t i = 0; i < options->interval_count; i++) {
        const ntprof_source_interval *const wanted = &options->intervals[i];
        KPROFILE_SOURCE source;

        if (wanted->source == NULL || wanted->interval == 0) {
            return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                              "intervals[%zu] has no source, or an interval of 0", i);
        }
        if (!NT_SUCCESS(session->backend->LookupSource(session->backend_context,
                                                       wanted->source, &source))) {
            return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                              "intervals[%zu]: back end %s has no source \"%.64s\"", i,
                              session->backend->Name, wanted->source);
        }
        session->backend->Hal->SetInterval(session->backend_context, source,
                                           wanted->interval);
    }
    return STATUS_SUCCESS;
}

static NTSTATUS
session_init_lock(ntprof_session *session)
{
    pthread_mutexattr_t attributes;
    int failure;

    if (pthread_mutexattr_init(&attributes) != 0) {
        return api_lack("no lock", -ENOMEM);
    }
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    /* Robust, because a notification that ends its thread would leave it locked for
     * ever. */
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    failure = pthread_mutex_init(&session->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    if (failure == 0) {
        failure = pthread_cond_init(&session->resumed, NULL);
        if (failure != 0) {
            pthread_mutex_destroy(&session->lock);
        }
    }
    return failure == 0 ? STATUS_SUCCESS : api_lack("no lock", -failure);
}

static void
session_destroy_lock(ntprof_session *session)
{
    pthread_cond_destroy(&session->resumed);
    pthread_mutex_destroy(&session->lock);
}

/* If the back end can count only in its own pages, the host allocates counters there.
 */
static void
session_use_pages(ntprof_session *session)
{
    const HAL_PAGES *const pages = session->backend->Pages;

    if (pages != NULL) {
        const struct host_page_supplier supplier = {
            .context = session->backend_context,
            .allocate = pages->Take,
            .release = pages->Give,
            .map = pages->Map,
        };

        host_linux_use_pages(&session->host, &supplier);
    }
}

static void
session_close_backend(ntprof_session *session)
{
    host_linux_use_pages(&session->host, NULL);
    session->backend->Close(session->backend_context);
}

static NTSTATUS
session_open_cgroup(ntprof_session *session, const char *directory)
{
    struct statfs system;

    session->cgroup_fd = -1;
    if (directory == NULL) {
        return STATUS_SUCCESS;
    }
    session->cgroup_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (session->cgroup_fd < 0) {
        return errno == EMFILE || errno == ENFILE
                   ? api_lack("cannot open the cgroup", -errno)
                   : api_refuse(NULL, STATUS_NOT_FOUND, "cannot open cgroup %s: %s",
                                directory, strerror(errno));
    }
    if (fstatfs(session->cgroup_fd, &system) == 0 &&
        (system.f_type == CGROUP_SUPER_MAGIC || system.f_type == CGROUP2_SUPER_MAGIC)) {
        return STATUS_SUCCESS;
    }
    close(session->cgroup_fd);
    return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                      "%s is no directory of a cgroup file system", directory);
}

static void
session_close_cgroup(const ntprof_session *session)
{
    if (session->cgroup_fd >= 0) {
        close(session->cgroup_fd);
    }
}

/* Creates host, back end, core and thread, in this order; on failure all are undone.
 */
static NTSTATUS
session_build(ntprof_session *session, const ntprof_session_options *options)
{
    const EX_OPTIONS rules = {
        .Version = options->nt_version,
        .Abi = options->abi,
        .Wow64 = (options->flags & NTPROF_SESSION_WOW64) != 0,
        .FineBuckets = (options->flags & NTPROF_SESSION_FINE_BUCKETS) != 0,
    };
    HAL hal;
    NTSTATUS status = host_linux_create(&session->host);

    if (!NT_SUCCESS(status)) {
        return api_lack("cannot read which processors there are", -errno);
    }
    status = session_choose_backend(session, options);
    if (!NT_SUCCESS(status)) {
        goto delete_host;
    }
    session_use_pages(session);
    hal = (HAL){.Table = session->backend->Hal, .Context = session->backend_context};
    status = ExInitializeSystem(&session->system, &session->host, &hal, &rules);
    if (!NT_SUCCESS(status)) {
        (void)api_lack("no session", -ENOMEM); /* the options have been checked before
                                                */
        goto close_backend;
    }
    status = session_set_intervals(session, options);
    if (!NT_SUCCESS(status)) {
        goto finish_system;
    }
    if ((options->flags & NTPROF_SESSION_POLLED) == 0) {
        status = api_start_thread(session);
        if (!NT_SUCCESS(status)) {
            goto finish_system;
        }
    }
    return STATUS_SUCCESS;

finish_system:
    ExFinishSystem(&session->system);
close_backend:
    session_close_backend(session);
delete_host:
    host_linux_delete(&session->host);
    return status;
}

NTSTATUS
ntprof_session_open(const ntprof_session_options *from, ntprof_session **out)
{
    ntprof_session_options options;
    ntprof_session *session;
    NTSTATUS status;

    if (out == NULL) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "there is no variable for the session");
    }
    status = api_read_options(from, &options);
    if (!NT_SUCCESS(status)) {
        return status;
    }
    session = calloc(1, sizeof(*session));
    if (session == NULL) {
        return api_lack("no session", -ENOMEM);
    }
    session->owner = api_process_id();
    session->wake_fd = -1;
    session->log = options.log;
    session->log_context = options.log_context;
    status = session_open_cgroup(session, options.cgroup);
    if (!NT_SUCCESS(status)) {
        goto free_session;
    }
    status = session_init_lock(session);
    if (!NT_SUCCESS(status)) {
        goto close_cgroup;
    }
    status = session_build(session, &options);
    if (!NT_SUCCESS(status)) {
        goto destroy_lock;
    }
    if (session->log != NULL && session->better[0] != '\0') {
        session->log(session->log_context, NTPROF_LOG_INFO, session->better);
    }
    *out = session;
    return STATUS_SUCCESS;

destroy_lock:
    session_destroy_lock(session);
close_cgroup:
    session_close_cgroup(session);
free_session:
    free(session);
    return status;
}

void
ntprof_session_close(ntprof_session *session)
{
    if (session == NULL) {
        return;
    }
    if (thread_session == session) {
        thread_session = NULL;
    }
    if (session->owner != api_process_id()) {
        /* a forked child: thread, rings and lock belong to the parent; the memory is
         * not freed */
        return;
    }
    if (!api_lock(session)) {
        return; /* an abandoned delivery never ends; the memory is not freed */
    }
    pthread_mutex_unlock(&session->lock);
    api_stop_thread(session);
    session->notify = NULL; /* its context may be freed; hits are still delivered */
    ExFinishSystem(&session->system);
    session_close_backend(session);
    host_linux_delete(&session->host);
    session_close_cgroup(session);
    session_destroy_lock(session);
    free(session);
}

void
ntprof_session_use(ntprof_session *session)
{
    thread_session = session;
}

/* If a thread forks while another opens the default session, the child would wait for
 * the lock for ever. So the lock is held during fork. */
static void
default_take_for_fork(void)
{
    pthread_mutex_lock(&default_lock);
}

static void
default_leave_after_fork(void)
{
    pthread_mutex_unlock(&default_lock);
}

static void
default_prepare(void)
{
    /* The host's handlers must be registered first: fork runs them in reverse order,
     * which is the order of the locks. If there is no memory to register ours, a fork
     * at the wrong moment may hang the child. */
    host_linux_prepare();
    (void)pthread_atfork(default_take_for_fork, default_leave_after_fork,
                         default_leave_after_fork);
}

/*
 * Run at load, before any thread can use the library. Otherwise a fork in progress
 * could have run its prepare handlers already when another thread registers ours and
 * takes the lock; then the child would never release it.
 */
__attribute__((constructor)) static void
default_prepare_at_load(void)
{
    pthread_once(&default_once, default_prepare);
}

ntprof_session *
api_current_session(NTSTATUS *status)
{
    ntprof_session *session = thread_session;

    *status = STATUS_SUCCESS;
    if (session != NULL) {
        return session;
    }
    pthread_once(&default_once,
                 default_prepare); /* another constructor may run before ours */
    pthread_mutex_lock(&default_lock);
    /* A forked child opens its own; the parent's is not freed. */
    if (default_session == NULL || default_session->owner != api_process_id()) {
        *status = ntprof_session_open(NULL, &session);
        if (NT_SUCCESS(*status)) {
            default_session = session;
        }
    } else {
        session = default_session;
    }
    pthread_mutex_unlock(&default_lock);
    return session;
}

NTSTATUS
ntprof_nt_version_lookup(const char *text, uint32_t *version)
{
    const EX_VERSION *found;

    if (text == NULL || version == NULL) {
        return STATUS_INVALID_PARAMETER;
    }
    for (ULONG i = 0; (found = ExNextVersion(i)) != NULL; i++) {
        if (strcasecmp(text, found->Name) == 0) {
            *version = found->Number;
            return STATUS_SUCCESS;
        }
    }
    return STATUS_NOT_FOUND;
}
