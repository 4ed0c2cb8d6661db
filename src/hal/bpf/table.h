/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/table.h - the processes that have profiles, as the program finds them: by
 * number, in the number's place in front, or else in one of BPF_PROBES places of the
 * table.
 *
 * Invariants: a process is in one place; a place whose roots are all 0 is nobody's, and
 * is taken again by the next that hashes there, but in front by the same number alone.
 * A session that changes a place waits for the programs that may have found it
 * (bpf_kernel_wait) before it gives it to another process: ke does, after each removal.
 */
#ifndef HAL_BPF_TABLE_H
#define HAL_BPF_TABLE_H

#include "hal/bpf/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct bpf_table {
    struct bpf_process *places;
    bool *taken; /* by place */
    uint64_t count;
};

/* bpf_table_init - over the map's memory, in which places are zero. Returns 0 or
 * -ENOMEM. */
int bpf_table_init(struct bpf_table *table, union bpf_shared *shared);
void bpf_table_finish(struct bpf_table *table);

/* bpf_table_take - the place of a process, taken now if it has none: *fresh. NULL if
 * all of its places are others'. */
struct bpf_process *bpf_table_take(struct bpf_table *table, uint32_t pid, bool *fresh);

/* bpf_table_find - NULL if it has none. */
struct bpf_process *bpf_table_find(const struct bpf_table *table, uint32_t pid);

static inline bool
bpf_process_is_idle(const struct bpf_process *process)
{
    return process->roots[KI_TREE_ADDRESSES] == 0 &&
           process->roots[KI_TREE_SEGMENTS] == 0;
}

/* bpf_table_publish - the program searches these roots from now on; all 0 gives the
 * place back. */
void bpf_table_publish(struct bpf_table *table, struct bpf_process *process,
                       const ULONG roots[KI_TREES]);

/* bpf_table_next_ended - a process with roots that runs a new program, from place *at
 * on; NULL: no more. */
struct bpf_process *bpf_table_next_ended(const struct bpf_table *table, uint32_t *at);

#endif
