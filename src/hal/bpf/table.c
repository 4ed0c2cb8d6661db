/* SPDX-License-Identifier: MIT */
/* hal/bpf/table.c - the table of processes, from the session's side. */
#include "hal/bpf/table.h"

#include "hal/linux/descriptor.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

int
bpf_table_init(struct bpf_table *table, union bpf_shared *shared)
{
    *table = (struct bpf_table){.processes = shared->processes, .epoll_fd = -1};
    table->owners = calloc(BPF_ENTRIES, sizeof(*table->owners));
    table->taken = calloc(BPF_ENTRIES, sizeof(*table->taken));
    if (table->owners == NULL || table->taken == NULL) {
        return -ENOMEM;
    }
    table->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (table->epoll_fd < 0) {
        return -errno;
    }
    (void)perf_descriptor_own(table->epoll_fd);
    return 0;
}

int
bpf_table_open_pidfd(struct bpf_table *table, const struct bpf_process *process)
{
    struct bpf_owner *const owner = bpf_table_owner(table, process);
    struct epoll_event interest = {.events = EPOLLIN, .data.u32 = process->pid};
    int fd;

    assert(owner->taken);
    if (owner->pidfd >= 0) {
        return 0;
    }
    fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (fd < 0) {
        return errno == ESRCH ? -ESRCH : 0;
    }
    if (epoll_ctl(table->epoll_fd, EPOLL_CTL_ADD, fd, &interest) < 0) {
        close(fd);
        return 0;
    }
    owner->pidfd = perf_descriptor_own(fd);
    return 0;
}

void
bpf_table_close_pidfd(struct bpf_table *table, const struct bpf_process *process)
{
    struct bpf_owner *const owner = bpf_table_owner(table, process);

    if (owner->pidfd >= 0) {
        /* A child that was made without the handlers of fork() may have it still, and
         * epoll would report it again and again. */
        (void)epoll_ctl(table->epoll_fd, EPOLL_CTL_DEL, owner->pidfd, NULL);
        perf_descriptor_close(owner->pidfd);
        owner->pidfd = -1;
    }
}

void
bpf_table_finish(struct bpf_table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        bpf_table_close_pidfd(table, &table->processes[table->taken[i]]);
    }
    perf_descriptor_close(table->epoll_fd);
    free(table->owners);
    free(table->taken);
    *table = (struct bpf_table){.epoll_fd = -1};
}

struct bpf_process *
bpf_table_find(const struct bpf_table *table, uint32_t pid)
{
    for (uint32_t probe = 0; probe < BPF_PROBES; probe++) {
        const ULONG at = bpf_table_entry(pid, probe);

        if (table->owners[at].taken && table->processes[at].pid == pid) {
            return &table->processes[at];
        }
    }
    return NULL;
}

struct bpf_process *
bpf_table_take(struct bpf_table *table, uint32_t pid)
{
    struct bpf_process *process = bpf_table_find(table, pid);
    uint32_t probe = 0;
    ULONG at;

    if (process != NULL) {
        return process;
    }
    while (probe < BPF_PROBES && table->owners[bpf_table_entry(pid, probe)].taken) {
        probe++;
    }
    if (probe == BPF_PROBES) {
        return NULL;
    }
    at = bpf_table_entry(pid, probe);
    process = &table->processes[at];
    assert(bpf_process_is_idle(process));
    /* The pid last: a program that finds it finds a process that has not ended. */
    __atomic_store_n(&process->ended, BPF_RUNNING, __ATOMIC_RELAXED);
    __atomic_store_n(&process->pid, pid, __ATOMIC_RELEASE);
    table->owners[at] =
        (struct bpf_owner){.taken = true, .pidfd = -1, .number = table->count};
    table->taken[table->count++] = at;
    return process;
}

/* Give an entry back; the last one of table->taken gets its place there. */
static void
release_entry(struct bpf_table *table, struct bpf_owner *owner)
{
    const uint32_t last = table->taken[--table->count];

    table->taken[owner->number] = last;
    table->owners[last].number = owner->number;
    owner->taken = false;
}

void
bpf_table_publish(struct bpf_table *table, struct bpf_process *process,
                  const ULONG roots[KI_TREES])
{
    struct bpf_owner *const owner = bpf_table_owner(table, process);

    assert(owner->taken);
    for (int tree = 0; tree < KI_TREES; tree++) {
        __atomic_store_n(&process->roots[tree], roots[tree], __ATOMIC_RELEASE);
    }
    /* The pid stays, so that a search for others continues behind it. */
    if (bpf_process_is_idle(process)) {
        bpf_table_close_pidfd(table, process);
        release_entry(table, owner);
    }
}
