/* SPDX-License-Identifier: MIT */
/*
 * api/session.c - opening, using and closing sessions.
 *
 * The only mutable globals of the library above the host: the default session, each
 * thread's current one, and the log's receiver (log/log.c).
 */
#include "api/api.h"
#include "ex/version.h"
#include "host/linux/linux.h"
#include "log/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* Room in a list of back ends: at least as many as HalBackends has. */
enum { MOST_BACKENDS = 8 };

/* What a program without perf events can do about it, and what that costs it. */
#define USE_TIMERS                                                                   \
    "; or pass \"perf,timer\" as ntprof_session_options.backend: timers then count " \
    "this program's own code in user mode, and take one of its real-time signals"

static pthread_mutex_t default_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t default_once = PTHREAD_ONCE_INIT;
static ntprof_session *default_session;
static _Thread_local ntprof_session *thread_session;

/* ---- copies ---- */

bool
api_copy_out(void *to, const void *from, size_t bytes, size_t least)
{
    size_t size;

    assert(sizeof(size) <= least && least <= bytes);
    memcpy(&size, to, sizeof(size));
    if (size < least) {
        return false;
    }
    memcpy((char *)to + sizeof(size), (const char *)from + sizeof(size),
           (size < bytes ? size : bytes) - sizeof(size));
    return true;
}

/* ---- entering ---- */

/* Note that a callback did not return: no thread gets the session's lock any more, as
 * what the callback interrupted is never finished. */
static void
session_abandon(ntprof_session *session)
{
    __atomic_store_n(&session->abandoned, true, __ATOMIC_RELAXED);
}

bool
api_unlock(ntprof_session *session)
{
    if (pthread_mutex_unlock(&session->lock) != 0) {
        return false;
    }
    log_leave();
    return true;
}

bool
api_lock_beside(ntprof_session *session)
{
    const int failure = pthread_mutex_lock(&session->lock);

    if (failure != 0) {
        session_abandon(session);
        if (failure == EOWNERDEAD) {
            /* The thread that had the lock has ended. Unlocked without
             * pthread_mutex_consistent, the lock fails for all threads from now on. */
            pthread_mutex_unlock(&session->lock);
        }
        return false;
    }
    log_enter();
    if (session->notify_frame != NULL &&
        (uintptr_t)__builtin_frame_address(0) > (uintptr_t)session->notify_frame) {
        session_abandon(session);
    }
    if (!session->abandoned) {
        return true;
    }
    /* Unlock as often as this thread has locked, also in the abandoned delivery:
     * api_unlock fails when the thread does not have the lock any more. */
    while (api_unlock(session)) {
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
        (void)api_unlock(session);
    }
    return false;
}

/* Forget why earlier calls failed, in back end and host. */
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
    assert(!session->paused);
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

ntprof_session *
api_enter_named(ntprof_session *session, NTSTATUS *status)
{
    session = api_named_session(session, status);
    if (session != NULL && !api_enter(session)) {
        *status = api_refuse(session, STATUS_INVALID_PARAMETER, "%s", "");
        return NULL;
    }
    return session;
}

/* ---- what the back end calls ---- */

void
api_pause(void *context, ULONG64 wait_ns)
{
    ntprof_session *const session = context;
    const struct timespec wait = {.tv_sec = (time_t)(wait_ns / 1000000000u),
                                  .tv_nsec = (long)(wait_ns % 1000000000u)};
    int cancel_state;

    assert(!session->paused && session->owner == api_process_id());
    session->paused = true;
    (void)api_unlock(session);
    /* A thread that ended here would leave the session paused for ever. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    nanosleep(&wait, NULL);
    pthread_setcancelstate(cancel_state, NULL);
    if (pthread_mutex_lock(&session->lock) != 0) {
        session_abandon(session);
    } else {
        log_enter();
    }
    assert(session->paused); /* other calls wait until it is not */
    session->paused = false;
    pthread_cond_broadcast(&session->resumed);
    clear_errors(session);
}

/* Logs for the session's own receiver, and for that of the process. */
static void
session_log(const ntprof_session *session, int level, const char *text)
{
    LOG(level, "%s", text);
    if (session->log != NULL) {
        session->log(session->log_context, level, text);
    }
}

void
api_notice_halt(ntprof_session *session)
{
    char text[512];

    if (session->halt_logged || !ExNoticeHalt(&session->system)) {
        return;
    }
    session->halt_logged = true;
    if (api_describe_halt(session, text, sizeof(text))) {
        session_log(session, NTPROF_LOG_ERROR, text);
    }
}

/* Logs what happened to a process that is followed. */
static void
log_notification(const ntprof_notification *notification)
{
    const unsigned pid = notification->pid;

    switch (notification->kind) {
    case NTPROF_PROCESS_START:
        LOG_DEBUG("process %u (%s) is followed; its parent is %u", pid,
                  notification->name, notification->parent_pid);
        break;
    case NTPROF_PROCESS_EXEC:
        LOG_DEBUG("process %u runs %s", pid, notification->name);
        break;
    case NTPROF_PROCESS_EXIT:
        LOG_DEBUG("process %u (%s) exited", pid, notification->name);
        break;
    case NTPROF_IMAGE_MAP:
    case NTPROF_IMAGE_UNMAP:
        LOG_DEBUG("process %u %s %s at 0x%llx, 0x%llx bytes from offset 0x%llx", pid,
                  notification->kind == NTPROF_IMAGE_MAP ? "maps" : "unmaps",
                  notification->name, (unsigned long long)notification->base,
                  (unsigned long long)notification->length,
                  (unsigned long long)notification->file_offset);
        break;
    default:
        LOG_DEBUG("process %u: notification %u (%s)", pid, notification->kind,
                  notification->name);
        break;
    }
}

/* Pass a notification on. Called by the back end within a delivery, with the session
 * locked. By notify_frame api_lock sees that a callback was left by longjmp. */
static void
session_notify(void *context, const ntprof_notification *notification)
{
    ntprof_session *const session = context;
    ntprof_session *const before = thread_session;
    void *const frame_before = session->notify_frame;

    if (notification->kind == HAL_UNWATCHED_EXEC) {
        ExDetachProfiles(&session->system, notification->pid);
        return;
    }
    assert(notification->size == sizeof(*notification) && notification->name != NULL);
    log_notification(notification);
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

/* Pass a hit on, as session_notify does. */
static void
session_report_hit(void *context, const ntprof_hit *hit)
{
    ntprof_session *const session = context;
    ntprof_session *const before = thread_session;
    void *const frame_before = session->notify_frame;

    if (session->on_hit != NULL) {
        thread_session = session;
        session->notify_frame = __builtin_frame_address(0);
        session->on_hit(session->on_hit_context, hit);
        session->notify_frame = frame_before;
        thread_session = before;
    }
}

/* Pass a stack on, as session_notify does. */
static void
session_report_stack(void *context, const ntprof_stack *stack)
{
    ntprof_session *const session = context;
    ntprof_session *const before = thread_session;
    void *const frame_before = session->notify_frame;

    if (session->on_stack != NULL) {
        thread_session = session;
        session->notify_frame = __builtin_frame_address(0);
        session->on_stack(session->on_stack_context, stack);
        session->notify_frame = frame_before;
        thread_session = before;
    }
}

/* ---- choice of a back end ---- */

/* Appends "name: reason; to allow: remedy" to text, after what is there already. A
 * probe without a reason adds nothing. */
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

/* Opens a back end for the session. If that fails, notes why in session->better:
 * STATUS_INSUFFICIENT_RESOURCES means that a later try may succeed. */
static NTSTATUS
session_try_backend(ntprof_session *session, const HAL_BACKEND *backend,
                    const HAL_OPEN *open)
{
    HAL_PROBE *const probe = open->Probe;
    NTSTATUS status = STATUS_NOT_SUPPORTED;

    *probe = (HAL_PROBE){0};
    if (open->StackBytes != 0 && !backend->ReportsStacks) {
        HalExplainFailure(open, "it copies no stacks", "");
    } else {
        status = backend->Open(open, &session->backend_context);
    }
    if (NT_SUCCESS(status)) {
        LOG_DEBUG("back end %s: opened", backend->Name);
        session->backend = backend;
        session_add_reason(session->limits, sizeof(session->limits), "", probe);
        return status;
    }
    LOG_DEBUG("back end %s: refused: %s%s%s", backend->Name,
              probe->Reason[0] != '\0' ? probe->Reason : ntprof_status_name(status),
              probe->Remedy[0] != '\0' ? "; to allow: " : "", probe->Remedy);
    session_add_reason(session->better, sizeof(session->better), backend->Name, probe);
    if (!probe->Usable) {
        return probe->Shortage ? STATUS_INSUFFICIENT_RESOURCES : STATUS_NOT_SUPPORTED;
    }
    return status;
}

/* Refuses a name that no back end has, and lists their names. */
static NTSTATUS
session_refuse_backend(const char *name, size_t length)
{
    char names[128] = "";

    for (size_t i = 0; HalBackends[i] != NULL; i++) {
        const size_t used = strlen(names);

        snprintf(names + used, sizeof(names) - used, "%s%s", used != 0 ? ", " : "",
                 HalBackends[i]->Name);
    }
    return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                      "there is no back end \"%.*s\"; there are %s",
                      length < 32 ? (int)length : 32, name, names);
}

/* Returns the back end with a name of this length, or NULL. */
static const HAL_BACKEND *
session_find_backend(const char *name, size_t length)
{
    for (size_t i = 0; HalBackends[i] != NULL; i++) {
        if (strlen(HalBackends[i]->Name) == length &&
            memcmp(HalBackends[i]->Name, name, length) == 0) {
            return HalBackends[i];
        }
    }
    return NULL;
}

/* Back ends in the order in which a session tries them, each once. */
struct backend_list {
    const HAL_BACKEND *backends[MOST_BACKENDS];
    size_t count;
};

/* Add a back end to the list, unless it is there. */
static void
session_add_backend(struct backend_list *list, const HAL_BACKEND *backend)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->backends[i] == backend) {
            return;
        }
    }
    assert(list->count < MOST_BACKENDS);
    list->backends[list->count++] = backend;
}

/* Lists the back ends that names has, separated by commas; without names, those that
 * are not only chosen by name. All names are checked, whichever of them works. */
static NTSTATUS
session_list_backends(const char *names, struct backend_list *list)
{
    list->count = 0;
    for (size_t i = 0; names == NULL && HalBackends[i] != NULL; i++) {
        if (!HalBackends[i]->ByName) {
            session_add_backend(list, HalBackends[i]);
        }
    }
    for (const char *name = names; name != NULL;) {
        const char *const end = strchrnul(name, ',');
        const HAL_BACKEND *const backend =
            session_find_backend(name, (size_t)(end - name));

        if (backend == NULL) {
            return session_refuse_backend(name, (size_t)(end - name));
        }
        session_add_backend(list, backend);
        name = *end != '\0' ? end + 1 : NULL;
    }
    return STATUS_SUCCESS;
}

/* Opens the first usable one of the back ends that the options name. */
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
        .Hit = session_report_hit,
        .Stack = session_report_stack,
        .StackBytes = options->stack_bytes,
        .NotifyContext = session,
        .Pause = api_pause,
        .Selectors = options->abi == NTPROF_ABI_X86 ||
                     (options->abi == NTPROF_ABI_HOST && sizeof(void *) == 4),
        .UserOnly = (options->flags & NTPROF_SESSION_USER_ONLY) != 0,
        .CgroupFd = session->cgroup_fd >= 0 ? &session->cgroup_fd : NULL,
        .SimulationSeed = options->simulation_seed,
        .Probe = &probe,
    };
    struct backend_list list;
    NTSTATUS status = session_list_backends(options->backend, &list);
    bool shortage = false;

    if (!NT_SUCCESS(status)) {
        return status;
    }
    for (size_t i = 0; i < list.count; i++) {
        status = session_try_backend(session, list.backends[i], &open);
        if (NT_SUCCESS(status)) {
            return status;
        }
        shortage |= status == STATUS_INSUFFICIENT_RESOURCES;
    }
    if (shortage) { /* a later attempt may find a back end */
        return api_refuse(NULL, STATUS_INSUFFICIENT_RESOURCES, "%s", session->better);
    }
    /* Timers are not even tried unasked, because that takes a signal; they count in no
     * cgroup, and copy no stacks. */
    return api_refuse(NULL, status, "%s%s", session->better,
                      options->backend == NULL && session->cgroup_fd < 0 &&
                              options->stack_bytes == 0
                          ? USE_TIMERS
                          : "");
}

/* ---- open and close ---- */

/* Sets the intervals that the options ask for. Refuses unknown sources. */
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

/* Refuse stacks of sources that have none. */
static NTSTATUS
session_check_stacks(const ntprof_session *session,
                     const ntprof_session_options *options)
{
    for (uint32_t i = 0; i < options->stack_source_count; i++) {
        const char *const name = options->stack_sources[i];
        KPROFILE_SOURCE source;

        if (name == NULL || !NT_SUCCESS(session->backend->LookupSource(
                                session->backend_context, name, &source))) {
            return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                              "stack_sources[%u]: back end %s has no source \"%.64s\"",
                              i, session->backend->Name, name != NULL ? name : "");
        }
        if (source != ProfileTime) {
            return api_refuse(NULL, STATUS_NOT_SUPPORTED,
                              "stack_sources[%u]: \"%.64s\" has no stacks, only time "
                              "has: other sources have no rate that bounds how fast "
                              "copies fill memory",
                              i, name);
        }
    }
    return STATUS_SUCCESS;
}

/* Makes the lock and the condition variable of a session. */
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

/* Have the host allocate counters in pages of the back end, if it can count only in its
 * own. */
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

/* Closes the back end. The host leaves its pages before, since closing frees them. */
static void
session_close_backend(ntprof_session *session)
{
    host_linux_use_pages(&session->host, /* supplier */ NULL);
    session->backend->Close(session->backend_context);
}

/* Opens the directory of the cgroup that the session is limited to; NULL: it is not
 * limited. Refuses what is no directory of a cgroup file system. */
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
    session->cgroup_fd = -1;
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

/* Creates host, back end, core and thread, in this order. After a failure none of them
 * is left. */
static NTSTATUS
session_build(ntprof_session *session, const ntprof_session_options *options)
{
    const EX_OPTIONS rules = {
        .Version = options->nt_version,
        .Abi = options->abi,
        .Wow64 = (options->flags & NTPROF_SESSION_WOW64) != 0,
        .FineBuckets = (options->flags & NTPROF_SESSION_FINE_BUCKETS) != 0,
        .BugCheckAddress = (ULONG_PTR)&KeProfileInterruptWithSource,
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
        /* Only memory can be missing: api_read_options has checked the rules. */
        (void)api_lack("no session", -ENOMEM);
        goto close_backend;
    }
    status = session_set_intervals(session, options);
    if (NT_SUCCESS(status)) {
        status = session_check_stacks(session, options);
    }
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

static NTSTATUS
session_open(const ntprof_session_options *from, ntprof_session **out)
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
    session->stacks = options.stack_bytes != 0;
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
    if (session->better[0] != '\0') {
        session_log(session, NTPROF_LOG_INFO, session->better);
    }
    LOG_DEBUG("session opened: back end %s, NT %s, %s", session->backend->Name,
              session->system.Version->Name,
              session->threaded ? "with a thread" : "polled");
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

NTSTATUS
ntprof_session_open(const ntprof_session_options *from, ntprof_session **out)
{
    NTSTATUS status;

    log_enter();
    status = session_open(from, out);
    if (!NT_SUCCESS(status)) {
        LOG_DEBUG("no session: %s", ntprof_status_name(status));
    }
    log_leave();
    return status;
}

static void
session_close(ntprof_session *session)
{
    if (thread_session == session) {
        thread_session = NULL;
    }
    if (session->owner != api_process_id()) {
        /* a forked child: thread, rings and lock belong to the parent; the memory is
         * not freed */
        return;
    }
    /* Only its lock tells that a session is abandoned: its delivery never ends, so the
     * memory is not freed. */
    if (!api_lock(session)) {
        return;
    }
    assert(!session->closing);
    (void)api_unlock(session);
    api_stop_thread(session);
    assert(!session->threaded && !session->paused);
    session->notify = NULL; /* its context may be freed; hits are still delivered */
    session->on_hit = NULL;
    session->on_stack = NULL;
    ExFinishSystem(&session->system);
    session_close_backend(session);
    host_linux_delete(&session->host);
    session_close_cgroup(session);
    session_destroy_lock(session);
    free(session);
    LOG_DEBUG("session closed");
}

void
ntprof_session_close(ntprof_session *session)
{
    if (session != NULL) {
        log_enter();
        session_close(session);
        log_leave();
    }
}

void
ntprof_session_use(ntprof_session *session)
{
    thread_session = session;
}

/* ---- the default session ---- */

/* Hold default_lock during fork: if a thread forked while another one holds the lock,
 * the child would wait for it for ever. */
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

/* Register the fork handlers of the host, of the log and of default_lock. */
static void
default_prepare(void)
{
    /* The host's handlers must be registered first: fork runs them in reverse order,
     * which is the order of the locks. If there is no memory to register ours, a fork
     * at the wrong moment may hang the child. */
    host_linux_prepare();
    log_prepare();
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

/* Returns the default session, which is opened if necessary; NULL with *status. */
static ntprof_session *
default_open(NTSTATUS *status)
{
    ntprof_session *session = NULL;

    *status = STATUS_SUCCESS;
    pthread_once(&default_once,
                 default_prepare); /* another constructor may run before ours */
    log_enter();
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
    log_leave();
    return session;
}

ntprof_session *
api_current_session(NTSTATUS *status)
{
    *status = STATUS_SUCCESS;
    return thread_session != NULL ? thread_session : default_open(status);
}

ntprof_session *
api_named_session(ntprof_session *session, NTSTATUS *status)
{
    *status = STATUS_SUCCESS;
    return session != NULL ? session : default_open(status);
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
