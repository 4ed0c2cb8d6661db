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
    table->taken = calloc(BPF_ENTRIES, sizeof(*table->taken));
    return table->owners != NULL && table->taken != NULL ? 0 : -ENOMEM;
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
    for (uint32_t i = 0; i < table->count; i++) {
        bpf_table_close_pidfd(table, &table->processes[table->taken[i]]);
    }
    free(table->owners);
    free(table->taken);
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
