/* SPDX-License-Identifier: MIT */
/* hal/bpf/table.c - the table of processes, from the session's side. */
#include "hal/bpf/table.h"

#include <errno.h>
#include <stdlib.h>

enum { PLACES = BPF_PROCESSES_MASK + 1 };

int
bpf_table_init(struct bpf_table *table, struct bpf_processes *processes)
{
    *table = (struct bpf_table){.processes = processes};
    table->taken = calloc(PLACES, sizeof(*table->taken));
    return table->taken != NULL ? 0 : -ENOMEM;
}

void
bpf_table_finish(struct bpf_table *table)
{
    free(table->taken);
    *table = (struct bpf_table){0};
}

struct bpf_process *
bpf_table_find(const struct bpf_table *table, uint32_t pid)
{
    for (uint32_t probe = 0; probe < BPF_PROBES; probe++) {
        const uint32_t at = bpf_place(pid, probe);

        if (table->taken[at] && table->processes->places[at].pid == pid) {
            return &table->processes->places[at];
        }
    }
    return NULL;
}

struct bpf_process *
bpf_table_take(struct bpf_table *table, uint32_t pid, bool *fresh)
{
    struct bpf_process *process = bpf_table_find(table, pid);
    uint32_t at = 0;
    uint32_t probe;

    *fresh = false;
    if (process != NULL) {
        return process;
    }
    for (probe = 0; probe < BPF_PROBES; probe++) {
        at = bpf_place(pid, probe);
        if (!table->taken[at]) {
            break;
        }
    }
    if (probe == BPF_PROBES) {
        return NULL;
    }
    process = &table->processes->places[at];
    /* The number last: who finds it finds a process that has nothing and has not ended. */
    __atomic_store_n(&process->ended, BPF_RUNNING, __ATOMIC_RELAXED);
    __atomic_store_n(&process->changed_ns, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&process->pid, pid, __ATOMIC_RELEASE);
    table->taken[at] = true;
    table->count++;
    *fresh = true;
    return process;
}

/* The number stays, so that a search for others goes on behind it. */
static void
give_back_if_nobodys(struct bpf_table *table, const struct bpf_process *process)
{
    const size_t at = (size_t)(process - table->processes->places);

    if (table->taken[at] && process->state == 0 && bpf_process_is_idle(process)) {
        table->taken[at] = false;
        table->count--;
    }
}

void
bpf_table_publish(struct bpf_table *table, struct bpf_process *process,
                  const ULONG roots[KI_TREES])
{
    for (int tree = 0; tree < KI_TREES; tree++) {
        __atomic_store_n(&process->roots[tree], roots[tree], __ATOMIC_RELEASE);
    }
    give_back_if_nobodys(table, process);
}

bool
bpf_table_know(struct bpf_table *table, uint32_t pid, bool watched, uint64_t now_ns)
{
    const ULONG state = BPF_PROCESS_KNOWN | (watched ? BPF_PROCESS_WATCHED : 0u);
    bool fresh;
    struct bpf_process *const process = bpf_table_take(table, pid, &fresh);

    if (process == NULL) {
        return false;
    }
    /* What it changed before cannot have been seen: nobody knew it. */
    __atomic_store_n(&process->changed_ns, now_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&process->state, state, __ATOMIC_RELEASE);
    return true;
}

bool
bpf_table_forget(struct bpf_table *table, uint32_t pid)
{
    struct bpf_process *const process = bpf_table_find(table, pid);

    if (process == NULL || process->state == 0) {
        return false;
    }
    __atomic_store_n(&process->state, 0, __ATOMIC_RELEASE);
    give_back_if_nobodys(table, process);
    return true;
}

struct bpf_process *
bpf_table_next_ended(const struct bpf_table *table, uint32_t *at)
{
    for (; *at < PLACES; (*at)++) {
        struct bpf_process *const process = &table->processes->places[*at];

        if (table->taken[*at] && !bpf_process_is_idle(process) &&
            __atomic_load_n(&process->ended, __ATOMIC_ACQUIRE) == BPF_ENDED) {
            (*at)++;
            return process;
        }
    }
    return NULL;
}
