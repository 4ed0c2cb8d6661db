/* SPDX-License-Identifier: MIT */
/* hal/bpf/bpf.c - the session's state: the kernel's objects, processes and their ends.
 */
#include "hal/bpf/bpf.h"
#include "hal/linux/descriptor.h"
#include "hal/linux/procfs.h"
#include "hal/linux/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROCESSORS_MAX = 65536, ENDS_AT_ONCE = 64 };

/* The inode of the first pid namespace, by which the kernel and its tools know it. */
static const uint64_t first_namespace_inode = 0xEFFFFFFC;

int
bpf_fail(struct bpf *bpf, int error, enum bpf_stage stage, const char *what)
{
    struct bpf_refusal refusal = {0};

    bpf_refusal_explain(error, stage, &refusal);
    snprintf(bpf->error, sizeof(bpf->error), "cannot count %s: %s%s%s", what,
             refusal.reason, refusal.remedy[0] != 0 ? "; " : "", refusal.remedy);
    return error;
}

/* ---- processes ---- */

/* Be told of a process's end. -ESRCH if it has ended; without descriptors, whoever asks
 * for the process next finds that out. */
static int
watch_process(struct bpf *bpf, uint32_t pid)
{
    struct epoll_event interest = {.events = EPOLLIN, .data.u32 = pid};
    int fd;

    if (perf_idmap_find(&bpf->watched, pid) != NULL) {
        return 0;
    }
    fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) {
        return errno == ESRCH ? -ESRCH : 0;
    }
    if (epoll_ctl(bpf->epoll_fd, EPOLL_CTL_ADD, fd, &interest) < 0 ||
        perf_idmap_put(&bpf->watched, pid, (void *)((intptr_t)fd + 1)) < 0) {
        close(fd);
    }
    return 0;
}

static void
forget_process(struct bpf *bpf, uint32_t pid)
{
    const intptr_t watched = (intptr_t)perf_idmap_find(&bpf->watched, pid);

    if (watched != 0) {
        perf_idmap_remove(&bpf->watched, pid);
        /* A forked child may have it still, and the end would be told for ever: of
         * whoever has the number then. */
        (void)epoll_ctl(bpf->epoll_fd, EPOLL_CTL_DEL, (int)(watched - 1), NULL);
        close((int)(watched - 1));
    }
}

/* Is a process in a pid namespace below the session's, as far as /proc tells? The
 * kernel tells programs the numbers of those in the session's own alone, unless that is
 * the first, where all have one. */
static bool
is_below(const struct bpf *bpf, uint32_t pid)
{
    const uint64_t own = bpf_control_of(&bpf->kernel)->namespace_inode;
    char path[64];
    struct stat file;

    snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);
    return own != 0 && stat(path, &file) == 0 && file.st_ino != own;
}

static int
check_namespace(struct bpf *bpf, uint32_t pid)
{
    if (!is_below(bpf, pid)) {
        return 0;
    }
    snprintf(bpf->error, sizeof(bpf->error),
             "process %u is in a pid namespace below the session's; use another back "
             "end, or a session in that namespace or in the first one",
             pid);
    return -EOPNOTSUPP;
}

int
bpf_prepare(struct bpf *bpf, uint32_t pid)
{
    static const ULONG none[KI_TREES];
    struct bpf_process *process;
    bool fresh;
    int result = check_namespace(bpf, pid);

    if (result < 0) {
        return result;
    }
    process = bpf_table_take(&bpf->index.table, pid, &fresh);
    if (process == NULL) {
        snprintf(bpf->error, sizeof(bpf->error),
                 "too many processes have profiles: no place is left for %u", pid);
        return -ENOSPC;
    }
    if (!bpf_process_is_idle(process)) {
        return 0;
    }
    __atomic_store_n(&process->ended, BPF_RUNNING,
                     __ATOMIC_RELAXED); /* its program is told */
    result = watch_process(bpf, pid);
    if (result < 0) {
        bpf_table_publish(&bpf->index.table, process, none);
    }
    return result;
}

void
bpf_publish(struct bpf *bpf, uint32_t pid, const ULONG roots[KI_TREES])
{
    struct bpf_process *const process = bpf_table_find(&bpf->index.table, pid);

    if (process == NULL) {
        return;
    }
    bpf_table_publish(&bpf->index.table, process, roots);
    if (roots[KI_TREE_ADDRESSES] == 0 && roots[KI_TREE_SEGMENTS] == 0) {
        forget_process(bpf, pid);
    }
}

/* The programs have seen to it that nothing counts; the core is told. */
static void
notice_programs(struct bpf *bpf)
{
    const uint64_t ends =
        __atomic_load_n(&bpf_control_of(&bpf->kernel)->ends, __ATOMIC_ACQUIRE);
    const struct bpf_process *process;
    uint32_t at = 0;

    if (ends == bpf->ends_seen) {
        return;
    }
    bpf->ends_seen = ends;
    while ((process = bpf_table_next_ended(&bpf->index.table, &at)) != NULL) {
        bpf->ended(bpf->ended_context, process->pid);
    }
}

static void
notice_ends(struct bpf *bpf)
{
    struct epoll_event ends[ENDS_AT_ONCE];
    int count = ENDS_AT_ONCE;

    while (bpf->watched.count > 0 && count == ENDS_AT_ONCE) {
        count = epoll_wait(bpf->epoll_fd, ends, ENDS_AT_ONCE, 0);
        for (int i = 0; i < count; i++) {
            const uint32_t pid = ends[i].data.u32;

            bpf->ended(bpf->ended_context, pid);
            forget_process(bpf, pid); /* should it have profiles still */
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
    notice_programs(bpf);
    notice_ends(bpf);
    bpf->noticing = false;
}

/* ---- open and close ---- */

/* In which pid namespace are the session's numbers? Without /proc: in the first. */
static void
tell_namespace(struct bpf *bpf)
{
    struct bpf_control *const control = bpf_control_of(&bpf->kernel);
    struct stat file;

    if (stat("/proc/self/ns/pid", &file) == 0 && file.st_ino != first_namespace_inode) {
        control->namespace_device = file.st_dev;
        control->namespace_inode = file.st_ino;
    }
}

static void
find_kernel_right(struct bpf *bpf, bool user_only)
{
    struct perf_source *const time = perf_sources_find(&bpf->sources, ProfileTime);

    bpf->kernel_included = !user_only;
    if (user_only) {
        snprintf(bpf->kernel_reason, sizeof(bpf->kernel_reason),
                 "the session is for user mode only");
        return;
    }
    bpf_probe_source(bpf, time);
    bpf->kernel_included = time->kernel_included;
    if (!time->kernel_included) {
        snprintf(bpf->kernel_reason, sizeof(bpf->kernel_reason),
                 "the kernel does not let the caller see kernel mode");
    }
}

/* What every machine must be able to do, asked before anybody needs it. */
static int
try_event(struct bpf *bpf, struct bpf_refusal *refusal)
{
    struct perf_source *const time = perf_sources_find(&bpf->sources, ProfileTime);

    bpf_probe_source(bpf, time);
    return bpf_try_attach(bpf, time, refusal);
}

static int
attach_tracepoints(struct bpf *bpf, struct bpf_refusal *refusal)
{
    int result;

    bpf->exec_link = perf_descriptor_own(
        bpf_kernel_attach_tracepoint(&bpf->kernel, BPF_PROGRAM_EXEC));
    if (bpf->exec_link >= 0) {
        bpf->exit_link = perf_descriptor_own(
            bpf_kernel_attach_tracepoint(&bpf->kernel, BPF_PROGRAM_EXIT));
    }
    result = bpf->exec_link < 0 ? bpf->exec_link : bpf->exit_link;
    if (result < 0) {
        bpf_refusal_explain(result, BPF_STAGE_TRACEPOINT, refusal);
        return result;
    }
    return 0;
}

static uint32_t
count_processors(void)
{
    const long configured = sysconf(_SC_NPROCESSORS_CONF);

    return configured < 1 || configured > PROCESSORS_MAX ? PROCESSORS_MAX
                                                         : (uint32_t)configured;
}

/* All that needs memory and descriptors of ours alone. */
static int
make_own(struct bpf *bpf)
{
    const long rate = perf_procfs_setting("kernel/perf_event_max_sample_rate", 100000);
    int result = perf_sources_init(&bpf->sources, rate);

    if (result < 0) {
        return result;
    }
    result = bpf_index_init(&bpf->index, &bpf->kernel);
    if (result < 0) {
        return result;
    }
    bpf->witnesses = calloc(bpf->kernel.processors, sizeof(*bpf->witnesses));
    if (bpf->witnesses == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
        bpf->witnesses[i].fd = -1;
    }
    bpf->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return bpf->epoll_fd < 0 ? -errno : 0;
}

int
bpf_create(bpf_call *call, bool user_only, struct bpf **created,
           struct bpf_refusal *refusal)
{
    struct bpf *const bpf = calloc(1, sizeof(*bpf));
    int result = -ENOMEM;

    *refusal = (struct bpf_refusal){0};
    if (bpf == NULL) {
        bpf_refusal_explain(result, BPF_STAGE_MAP, refusal);
        return result;
    }
    bpf->exec_link = -1;
    bpf->exit_link = -1;
    bpf->epoll_fd = -1;
    bpf->cgroup_fd = -1;
    result = bpf_kernel_make(&bpf->kernel, call, count_processors(), BPF_FOR_EVENTS,
                             refusal);
    if (result < 0) {
        goto delete_bpf;
    }
    result = make_own(bpf);
    if (result < 0) {
        bpf_refusal_explain(result, BPF_STAGE_MAP, refusal);
        goto delete_bpf;
    }
    tell_namespace(bpf);
    find_kernel_right(bpf, user_only);
    result = try_event(bpf, refusal);
    if (result == 0) {
        result = attach_tracepoints(bpf, refusal);
    }
    if (result < 0) {
        goto delete_bpf;
    }
    *created = bpf;
    return 0;

delete_bpf:
    bpf_delete(bpf);
    return result;
}

static void
close_events(struct bpf *bpf)
{
    for (uint32_t slot = 0; slot < bpf->slot_count; slot++) {
        for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
            const struct bpf_event *const event = &bpf->slots[slot].events[i];

            if (event->fd >= 0) {
                perf_descriptor_close(event->link);
                perf_descriptor_close(event->fd);
            }
        }
        free(bpf->slots[slot].events);
    }
    for (uint32_t i = 0; bpf->witnesses != NULL && i < bpf->kernel.processors; i++) {
        if (bpf->witnesses[i].fd >= 0) {
            perf_descriptor_close(bpf->witnesses[i].fd);
        }
    }
    free(bpf->witnesses);
}

static void
close_link(int fd)
{
    if (fd >= 0) {
        perf_descriptor_close(fd);
    }
}

void
bpf_delete(struct bpf *bpf)
{
    if (bpf == NULL) {
        return;
    }
    close_link(bpf->exec_link);
    close_link(bpf->exit_link);
    close_events(bpf);
    for (size_t i = 0; i < bpf->watched.capacity; i++) {
        if (bpf->watched.entries[i].value != NULL) {
            close((int)((intptr_t)bpf->watched.entries[i].value - 1));
        }
    }
    perf_idmap_finish(&bpf->watched);
    if (bpf->epoll_fd >= 0) {
        close(bpf->epoll_fd);
    }
    bpf_index_finish(&bpf->index);
    perf_sources_finish(&bpf->sources);
    bpf_kernel_finish(&bpf->kernel);
    free(bpf);
}
