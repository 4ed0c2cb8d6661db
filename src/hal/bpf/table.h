/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/table.h - the table of processes that have profiles, as the program searches
 * it: by pid, first in the pid's place in front, then in BPF_PROBES places of the
 * table.
 *
 * Invariants: a process has one place; a place is taken from bpf_table_take until all
 * its roots are 0. A place in front is only taken again by the same pid. ke gives the
 * place to another process only after HAL_TABLE.Synchronize, so no program still uses
 * it for the first one.
 */
#ifndef HAL_BPF_TABLE_H
#define HAL_BPF_TABLE_H

#include "hal/bpf/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* What the session knows of a place. */
struct bpf_owner {
    bool taken;
    int pidfd; /* readable when the process has ended; -1: none */
};

struct bpf_table {
    struct bpf_process *places; /* in the map */
    struct bpf_owner *owners;   /* by place */
    uint64_t count;             /* taken */
};

/* bpf_table_init - over the map's memory, in which places are zero. Returns 0 or
 * -ENOMEM. */
int bpf_table_init(struct bpf_table *table, union bpf_shared *shared);
void bpf_table_finish(struct bpf_table *table);

/* bpf_table_take - the place of a process; if it has none, one is taken for it. NULL if
 * all that it may have are others'. */
struct bpf_process *bpf_table_take(struct bpf_table *table, uint32_t pid);

/* bpf_table_find - NULL if it has none. */
struct bpf_process *bpf_table_find(const struct bpf_table *table, uint32_t pid);

/* bpf_table_next - the first place from *at on that is taken; NULL: there is none. */
struct bpf_process *bpf_table_next(const struct bpf_table *table, uint32_t *at);

static inline struct bpf_owner *
bpf_table_owner(const struct bpf_table *table, const struct bpf_process *process)
{
    return &table->owners[process - table->places];
}

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

#endif
