/* SPDX-License-Identifier: MIT */
/* processes.h - the processes of the machine, as /proc lists them now: names,
 * descendants and processor time. */
#ifndef RECORD_PROCESSES_H
#define RECORD_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a name that Linux keeps, with its NUL. */
enum { PROCESS_NAME_BYTES = 16 };

/* process_seen - a process as /proc showed it when the list was read. */
struct process_seen {
    uint32_t pid;
    uint32_t parent;
    uint64_t started_ticks; /* since boot; with pid it identifies a process */
    uint64_t used_ticks;    /* processor time of all its threads, ended ones too */
    char name[PROCESS_NAME_BYTES];
    bool descendant; /* set by processes_mark_descendants */
};

/* processes - all processes that have not ended, by pid; all zero is an empty list. */
struct processes {
    struct process_seen *items;
    size_t count;
    size_t capacity;
};

/* Read the processes of /proc. A list that was read before is replaced. Returns false
 * if memory runs out or /proc cannot be read. */
bool processes_read(struct processes *processes);

/* Free the list; it is empty then. */
void processes_finish(struct processes *processes);

/* Find the process with this pid and start time. Returns NULL if it is not in the
 * list. */
const struct process_seen *processes_find(const struct processes *processes,
                                          uint32_t pid, uint64_t started_ticks);

/* Mark all descendants of the processes with these pids. Those themselves are marked
 * only if they are descendants of another of them. */
void processes_mark_descendants(struct processes *processes, const uint32_t *pids,
                                size_t count);

/* Return whether a process that runs a program, and is no kernel thread, has a name
 * that glob equals or matches (*, ?, [...]). A name that Linux has cut is compared in
 * full, as the file name in the first word of the command line. */
bool process_is_called(const struct process_seen *process, const char *glob);

#endif
