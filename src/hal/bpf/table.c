/* SPDX-License-Identifier: MIT */
/* hal/bpf/table.c - the table of processes, from the session's side. */
#include "hal/bpf/table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int
bpf_table_init(struct bpf_table *table, union bpf_shared *shared)
{
    *table = (struct bpf_table){.processes = shared->processes};
    table->owners = calloc(BPF_ENTRIES, sizeof(*table->owners));
    return table->owners != NULL ? 0 : -ENOMEM;
}

void
bpf_table_close_pidfd(struct bpf_table *table, const struct bpf_process *process)
{
    struct bpf_owner *const owner = bpf_table_owner(table, process);

    if (owner->pidfd >= 0) {
        close(owner->pidfd);
        owner->pidfd = -1;
    }
}

void
bpf_table_finish(struct bpf_table *table)
{
    const struct bpf_process *process;
    uint32_t at = 0;

    while (table->count > 0 && (process = bpf_table_next(table, &at)) != NULL) {
        bpf_table_close_pidfd(table, process);
    }
    free(table->owners);
    *table = (struct bpf_table){0};
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
    table->owners[at] = (struct bpf_owner){.taken = true, .pidfd = -1};
    table->count++;
    return process;
}

struct bpf_process *
bpf_table_next(const struct bpf_table *table, uint32_t *at)
{
    while (*at < BPF_ENTRIES) {
        const uint32_t entry = (*at)++;

        if (table->owners[entry].taken) {
            return &table->processes[entry];
        }
    }
    return NULL;
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
        owner->taken = false;
        table->count--;
    }
}
