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
    table->states = calloc(BPF_ENTRIES, sizeof(*table->states));
    table->listed = calloc(BPF_ENTRIES, sizeof(*table->listed));
    if (table->states == NULL || table->listed == NULL) {
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
    struct bpf_entry_state *const state = bpf_table_state(table, process);
    struct epoll_event interest = {.events = EPOLLIN, .data.u32 = process->pid};
    int fd;

    assert(state->in_use);
    if (state->pidfd >= 0) {
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
    state->pidfd = perf_descriptor_own(fd);
    return 0;
}

void
bpf_table_close_pidfd(struct bpf_table *table, const struct bpf_process *process)
{
    struct bpf_entry_state *const state = bpf_table_state(table, process);

    if (state->pidfd >= 0) {
        /* A child that was made without the handlers of fork() may have it still, and
         * epoll would report it again and again. */
        (void)epoll_ctl(table->epoll_fd, EPOLL_CTL_DEL, state->pidfd, NULL);
        perf_descriptor_close(state->pidfd);
        state->pidfd = -1;
    }
}

void
bpf_table_finish(struct bpf_table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        bpf_table_close_pidfd(table, &table->processes[table->listed[i]]);
    }
    perf_descriptor_close(table->epoll_fd);
    free(table->states);
    free(table->listed);
    *table = (struct bpf_table){.epoll_fd = -1};
}

struct bpf_process *
bpf_table_find(const struct bpf_table *table, uint32_t pid)
{
    for (uint32_t probe = 0; probe < BPF_PROBES; probe++) {
        const ULONG at = bpf_table_entry(pid, probe);

        if (table->states[at].in_use && table->processes[at].pid == pid) {
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
    while (probe < BPF_PROBES && table->states[bpf_table_entry(pid, probe)].in_use) {
        probe++;
    }
    if (probe == BPF_PROBES) {
        return NULL;
    }
    at = bpf_table_entry(pid, probe);
    process = &table->processes[at];
    assert(bpf_process_has_no_profiles(process));
    /* The pid last: a program that finds it finds a process that has not ended. */
    __atomic_store_n(&process->ended, BPF_RUNNING, __ATOMIC_RELAXED);
    __atomic_store_n(&process->pid, pid, __ATOMIC_RELEASE);
    table->states[at] =
        (struct bpf_entry_state){.in_use = true, .pidfd = -1, .number = table->count};
    table->listed[table->count++] = at;
    return process;
}

/* Note that an entry is not in use any more. The last number in table->listed replaces
 * that of the entry. */
static void
release_entry(struct bpf_table *table, struct bpf_entry_state *state)
{
    const uint32_t last = table->listed[--table->count];

    table->listed[state->number] = last;
    table->states[last].number = state->number;
    state->in_use = false;
}

void
bpf_table_publish(struct bpf_table *table, struct bpf_process *process,
                  const ULONG roots[KI_TREES])
{
    struct bpf_entry_state *const state = bpf_table_state(table, process);

    assert(state->in_use);
    for (int tree = 0; tree < KI_TREES; tree++) {
        __atomic_store_n(&process->roots[tree], roots[tree], __ATOMIC_RELEASE);
    }
    /* The pid stays, so that a search for others continues behind it. */
    if (bpf_process_has_no_profiles(process)) {
        bpf_table_close_pidfd(table, process);
        release_entry(table, state);
    }
}
