/* SPDX-License-Identifier: MIT */
/* hal/bpf/table.c - the table of processes, from the session's side. */
#include "hal/bpf/table.h"

#include <errno.h>
#include <stdlib.h>

int
bpf_table_init(struct bpf_table *table, union bpf_shared *shared)
{
    *table = (struct bpf_table){.places = shared->places};
    table->taken = calloc(BPF_PLACES, sizeof(*table->taken));
    return table->taken != NULL ? 0 : -ENOMEM;
}

void
bpf_table_finish(struct bpf_table *table)
{
    free(table->taken);
    *table = (struct bpf_table){0};
}

/* The choice-th of all places that a process may be in, in the order in which they are
 * looked at. */
static ULONG
place_of(uint32_t pid, uint32_t choice)
{
    return choice == 0 ? bpf_front_place(pid) : bpf_place(pid, choice - 1);
}

struct bpf_process *
bpf_table_find(const struct bpf_table *table, uint32_t pid)
{
    for (uint32_t choice = 0; choice <= BPF_PROBES; choice++) {
        const ULONG at = place_of(pid, choice);

        if (table->taken[at] && table->places[at].pid == pid) {
            return &table->places[at];
        }
    }
    return NULL;
}

/* Those in front are few, and numbers fall together there as a rule: a program that
 * notes the end of a process that had one, for which nobody waits, must not find
 * another there. */
static bool
is_fit(const struct bpf_table *table, ULONG at, uint32_t pid)
{
    return table->places[at].pid == 0 || table->places[at].pid == pid;
}

struct bpf_process *
bpf_table_take(struct bpf_table *table, uint32_t pid, bool *fresh)
{
    struct bpf_process *process = bpf_table_find(table, pid);
    ULONG at = 0;
    uint32_t choice;

    *fresh = false;
    if (process != NULL) {
        return process;
    }
    for (choice = 0; choice <= BPF_PROBES; choice++) {
        at = place_of(pid, choice);
        if (!table->taken[at] && (choice > 0 || is_fit(table, at, pid))) {
            break;
        }
    }
    if (choice > BPF_PROBES) {
        return NULL;
    }
    process = &table->places[at];
    /* The number last: who finds it finds a process that has nothing and has not ended.
     */
    __atomic_store_n(&process->ended, BPF_RUNNING, __ATOMIC_RELAXED);
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
    const size_t at = (size_t)(process - table->places);

    if (table->taken[at] && bpf_process_is_idle(process)) {
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

struct bpf_process *
bpf_table_next_ended(const struct bpf_table *table, uint32_t *at)
{
    for (; *at < BPF_PLACES; (*at)++) {
        struct bpf_process *const process = &table->places[*at];

        if (table->taken[*at] && !bpf_process_is_idle(process) &&
            __atomic_load_n(&process->ended, __ATOMIC_ACQUIRE) == BPF_ENDED) {
            (*at)++;
            return process;
        }
    }
    return NULL;
}
