/* SPDX-License-Identifier: MIT */
/* hal/bpf/bpf.c - the session's state: the kernel's objects, processes and their exits
 * and execs. */
#include "hal/bpf/bpf.h"

#include "hal/backend.h"
#include "hal/linux/descriptor.h"
#include "hal/linux/procfs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>

enum { EXITS_AT_ONCE = 64 }; /* most that one epoll_wait returns */

int
bpf_fail(struct bpf *bpf, int error, enum bpf_stage stage, const char *what)
{
    struct perf_refusal refusal = {0};

    bpf_refusal_explain(error, stage, &refusal);
    return perf_context_fail(&bpf->context, error, "cannot count %s: %s%s%s", what,
                             refusal.reason, refusal.remedy[0] != 0 ? "; " : "",
                             refusal.remedy);
}

/* ---- processes ---- */

/* Is a process in a pid namespace below the session's, as far as /proc shows? The
 * kernel gives the BPF program no pid of such a process, unless the session's namespace
 * is the first one. */
static bool
is_below(const struct bpf *bpf, uint32_t pid)
{
    const uint64_t own = bpf_control_of(&bpf->kernel)->namespace_inode;
    const uint64_t namespace = perf_procfs_pid_namespace(pid);

    return own != 0 && namespace != 0 && namespace != own;
}

int
bpf_prepare(struct bpf *bpf, uint32_t pid)
{
    static const ULONG none[KI_TREES];
    struct bpf_process *process;
    int result;

    if (is_below(bpf, pid)) {
        return perf_context_fail(
            &bpf->context, -EOPNOTSUPP,
            "process %u is in a pid namespace below the session's; use another back "
            "end, or a session in that namespace or in the first one",
            pid);
    }
    process = bpf_table_take(&bpf->index.table, pid);
    if (process == NULL) {
        return perf_context_fail(
            &bpf->context, -ENOSPC,
            "too many processes have profiles: no place is left for %u", pid);
    }
    if (!bpf_process_has_no_profiles(process)) {
        return 0;
    }
    /* ended may be set by a process that had the entry before: that was reported. */
    __atomic_store_n(&process->ended, BPF_RUNNING, __ATOMIC_RELAXED);
    result = bpf_table_open_pidfd(&bpf->index.table, process);
    if (result < 0) {
        bpf_table_publish(&bpf->index.table, process, none);
    }
    return result;
}

void
bpf_publish(struct bpf *bpf, uint32_t pid, const ULONG roots[KI_TREES])
{
    struct bpf_process *const process = bpf_table_find(&bpf->index.table, pid);

    if (process != NULL) {
        bpf_table_publish(&bpf->index.table, process, roots);
    }
}

/* ---- exits and execs ---- */

/* Notify the session that a process exited or executed another program: after each its
 * profiles count nothing more. */
static void
notify_end(struct bpf *bpf, uint32_t pid)
{
    const ntprof_notification notification = {.kind = HAL_UNWATCHED_EXEC, .pid = pid};

    bpf->notify(bpf->notify_context, &notification);
}

/* Report processes for which BPF_PROGRAM_EXEC has noted an exec. This makes no system
 * call. */
static void
notice_execs(struct bpf *bpf)
{
    const struct bpf_table *const table = &bpf->index.table;

    /* Backwards: notify_end may remove the entry of its process. */
    for (uint32_t i = table->count; i-- > 0;) {
        const struct bpf_process *const process = &table->processes[table->listed[i]];

        assert(i < table->count);
        if (__atomic_load_n(&process->ended, __ATOMIC_ACQUIRE) == BPF_ENDED) {
            notify_end(bpf, process->pid);
        }
    }
}

/* Report the exit of a process that epoll_fd names, unless a notification has released
 * its entry since epoll_wait: then another process may have the pid. */
static void
notice_exit(struct bpf *bpf, uint32_t pid)
{
    struct bpf_table *const table = &bpf->index.table;
    const struct bpf_process *process = bpf_table_find(table, pid);

    if (process == NULL ||
        !perf_pidfd_has_exited(bpf_table_state(table, process)->pidfd)) {
        return;
    }
    notify_end(bpf, pid);
    process = bpf_table_find(table, pid);
    if (process != NULL) { /* it still has profiles */
        bpf_table_close_pidfd(table, process);
    }
}

/* Report processes that have exited. One call finds out that none has, however many
 * have profiles. */
static void
notice_exits(struct bpf *bpf)
{
    struct epoll_event exits[EXITS_AT_ONCE];
    int count = EXITS_AT_ONCE;

    while (bpf->index.table.count > 0 && count == EXITS_AT_ONCE) {
        count = epoll_wait(bpf->index.table.epoll_fd, exits, EXITS_AT_ONCE, 0);
        for (int i = 0; i < count; i++) {
            notice_exit(bpf, exits[i].data.u32);
        }
    }
}

void
bpf_notice(struct bpf *bpf)
{
    if (bpf->noticing) {
        return;
    }
    bpf->noticing = true;
    notice_execs(bpf);
    notice_exits(bpf);
    bpf->noticing = false;
}

/* ---- open and close ---- */

/* Store for the programs in which pid namespace the session's pids are. If that is
 * unknown, as without /proc, they take it for the first one. */
static void
find_namespace(struct bpf *bpf)
{
    struct bpf_control *const control = bpf_control_of(&bpf->kernel);
    struct stat file;

    if (stat("/proc/self/ns/pid", &file) == 0 &&
        file.st_ino != PERF_FIRST_PID_NAMESPACE) {
        control->namespace_device = file.st_dev;
        control->namespace_inode = file.st_ino;
    }
}

/* Have each exec and each exit of a thread run its program. */
static int
attach_tracepoints(struct bpf *bpf, struct perf_refusal *refusal)
{
    static const enum bpf_program programs[] = {BPF_PROGRAM_EXEC, BPF_PROGRAM_EXIT};

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        bpf->links[i] = perf_descriptor_own(
            bpf_kernel_attach_tracepoint(&bpf->kernel, programs[i]));
        if (bpf->links[i] < 0) {
            bpf_refusal_explain(bpf->links[i], BPF_STAGE_TRACEPOINT, refusal);
            return bpf->links[i];
        }
    }
    return 0;
}

/* Make what takes memory only, and no right: the index, and room for heartbeats. */
static int
make_memory(struct bpf *bpf)
{
    const int result = bpf_index_init(&bpf->index, &bpf->kernel);

    if (result < 0) {
        return result;
    }
    bpf->heartbeats = calloc(bpf->kernel.processors, sizeof(*bpf->heartbeats));
    if (bpf->heartbeats == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
        bpf->heartbeats[i].fd = -1;
    }
    return 0;
}

/* Make all that a session needs at once: the kernel can refuse any of it. */
static int
make_all(struct bpf *bpf, bpf_call *call, bool user_only, struct perf_refusal *refusal)
{
    int result = bpf_kernel_make(&bpf->kernel, call, perf_processor_limit(),
                                 BPF_FOR_EVENTS, refusal);

    if (result < 0) {
        return result;
    }
    result = make_memory(bpf);
    if (result < 0) {
        bpf_refusal_explain(result, BPF_STAGE_MAP, refusal);
        return result;
    }
    find_namespace(bpf);
    result = perf_context_init(&bpf->context, PERF_SCOPE_ALL, user_only);
    if (result < 0) {
        bpf_refusal_explain(result, BPF_STAGE_EVENT, refusal);
        return result;
    }
    result = bpf_try_attach(bpf, refusal);
    return result < 0 ? result : attach_tracepoints(bpf, refusal);
}

int
bpf_create(bpf_call *call, bool user_only, struct bpf **created,
           struct perf_refusal *refusal)
{
    struct bpf *const bpf = calloc(1, sizeof(*bpf));
    int result;

    *refusal = (struct perf_refusal){0};
    if (bpf == NULL) {
        bpf_refusal_explain(-ENOMEM, BPF_STAGE_MAP, refusal);
        return -ENOMEM;
    }
    bpf->links[0] = -1;
    bpf->links[1] = -1;
    result = make_all(bpf, call, user_only, refusal);
    if (result < 0) {
        bpf_delete(bpf);
        return result;
    }
    *created = bpf;
    return 0;
}

/* Close all events, their links and the heartbeats. */
static void
close_events(struct bpf *bpf)
{
    for (uint32_t slot = 0; slot < bpf->slot_count; slot++) {
        for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
            perf_descriptor_close(bpf->slots[slot].events[i].link);
            perf_descriptor_close(bpf->slots[slot].events[i].event.fd);
        }
        free(bpf->slots[slot].events);
    }
    for (uint32_t i = 0; bpf->heartbeats != NULL && i < bpf->kernel.processors; i++) {
        perf_descriptor_close(bpf->heartbeats[i].fd);
    }
    free(bpf->heartbeats);
}

void
bpf_delete(void *context)
{
    struct bpf *const bpf = context;

    if (bpf == NULL) {
        return;
    }
    perf_descriptor_close(bpf->links[0]);
    perf_descriptor_close(bpf->links[1]);
    close_events(bpf);
    bpf_index_finish(&bpf->index);
    perf_context_finish(&bpf->context);
    bpf_kernel_finish(&bpf->kernel);
    free(bpf);
}
