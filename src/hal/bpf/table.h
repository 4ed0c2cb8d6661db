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
struct bpf_entry_state {
    bool in_use;     /* a process has the entry */
    int pidfd;       /* of the process, and in epoll_fd; -1: none */
    uint32_t number; /* while in_use: index in bpf_table.listed of the entry's number */
};

struct bpf_table {
    struct bpf_process *processes;  /* union bpf_shared, by entry */
    struct bpf_entry_state *states; /* by entry */
    uint32_t *listed; /* numbers of the entries that are in use, in no order */
    uint32_t count;   /* of these */
    int epoll_fd;     /* readable while a process whose pidfd is open has exited; its
                       * events have the pid in data.u32 */
};

/* bpf_table_init - make an empty table in the map's memory, which must be zero. Returns
 * 0 or negative errno; bpf_table_finish must be called in both cases. */
int bpf_table_init(struct bpf_table *table, union bpf_shared *shared);
void bpf_table_finish(struct bpf_table *table);

/* bpf_table_take - return the entry of a process; if it has none, it gets one. NULL:
 * all entries that it may have are in use. */
struct bpf_process *bpf_table_take(struct bpf_table *table, uint32_t pid);

/* bpf_table_find - return the entry of a process; NULL if it has none. */
struct bpf_process *bpf_table_find(const struct bpf_table *table, uint32_t pid);

/* bpf_table_open_pidfd - have epoll_fd report the exit of an entry's process. Returns 0
 * or -ESRCH if it has exited already. Returns 0 too if the kernel has no descriptor or
 * memory left for that: then the exit is found out when a call names the process. */
int bpf_table_open_pidfd(struct bpf_table *table, const struct bpf_process *process);

/* bpf_table_close_pidfd - have epoll_fd report the exit of an entry's process no
 * longer. */
void bpf_table_close_pidfd(struct bpf_table *table, const struct bpf_process *process);

/* bpf_table_state - return the session's own data for an entry. */
static inline struct bpf_entry_state *
bpf_table_state(const struct bpf_table *table, const struct bpf_process *process)
{
    return &table->states[process - table->processes];
}

/* bpf_process_has_no_profiles - is no profile started for the process of an entry? True
 * also if no process has the entry. */
static inline bool
bpf_process_has_no_profiles(const struct bpf_process *process)
{
    return process->roots[KI_TREE_ADDRESSES] == 0 &&
           process->roots[KI_TREE_SEGMENTS] == 0;
}

/* bpf_table_publish - have the program search these trees from now on for hits of an
 * entry's process. With all roots 0 the entry is in use no more. */
void bpf_table_publish(struct bpf_table *table, struct bpf_process *process,
                       const ULONG roots[KI_TREES]);

#endif
