/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/table.h - the table of processes that have profiles. The program searches it
 * by pid in up to BPF_PROBES entries.
 *
 * Invariants: a process has one entry, from bpf_table_take until all its roots are 0.
 * ke lets another process have an entry only after HAL_TABLE.Synchronize, so no program
 * still counts in it for the process before.
 */
#ifndef HAL_BPF_TABLE_H
#define HAL_BPF_TABLE_H

#include "hal/bpf/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* The session's own data for an entry, which the programs in the kernel do not see. */
struct bpf_owner {
    bool taken;      /* a process has the entry */
    int pidfd;       /* of the process, and in epoll_fd; -1: none */
    uint32_t number; /* if taken: where bpf_table.taken lists the entry */
};

struct bpf_table {
    struct bpf_process *processes; /* union bpf_shared, by entry */
    struct bpf_owner *owners;      /* by entry */
    uint32_t *taken; /* numbers of the entries that processes have, in no order */
    uint32_t count;  /* of these */
    int epoll_fd;    /* readable while a process whose pidfd is open has exited; its
                      * events have the pid in data.u32 */
};

/* bpf_table_init - make an empty table in the map's memory, which must be zero. Returns
 * 0 or negative errno; bpf_table_finish must be called in both cases. */
int bpf_table_init(struct bpf_table *table, union bpf_shared *shared);
void bpf_table_finish(struct bpf_table *table);

/* bpf_table_take - return the entry of a process, taken now if it has none; NULL if
 * all that it may have are others'. */
struct bpf_process *bpf_table_take(struct bpf_table *table, uint32_t pid);

/* bpf_table_find - return the entry of a process; NULL if it has none. */
struct bpf_process *bpf_table_find(const struct bpf_table *table, uint32_t pid);

/* bpf_table_open_pidfd - have epoll_fd report the exit of an entry's process. Returns 0
 * or -ESRCH if it has exited already. Returns 0 too if the kernel has no descriptor or
 * memory left for that: then the exit is found out when a call names the process. */
int bpf_table_open_pidfd(struct bpf_table *table, const struct bpf_process *process);

/* bpf_table_close_pidfd - have epoll_fd report it no longer. */
void bpf_table_close_pidfd(struct bpf_table *table, const struct bpf_process *process);

static inline struct bpf_owner *
bpf_table_owner(const struct bpf_table *table, const struct bpf_process *process)
{
    return &table->owners[process - table->processes];
}

static inline bool
bpf_process_is_idle(const struct bpf_process *process)
{
    return process->roots[KI_TREE_ADDRESSES] == 0 &&
           process->roots[KI_TREE_SEGMENTS] == 0;
}

/* bpf_table_publish - the program searches these roots from now on; all 0 gives the
 * entry back. */
void bpf_table_publish(struct bpf_table *table, struct bpf_process *process,
                       const ULONG roots[KI_TREES]);

#endif
