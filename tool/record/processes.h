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
void processes_finish(struct processes *processes);

/* Find a process that was started then. Returns NULL if it is not there any more. */
const struct process_seen *processes_find(const struct processes *processes,
                                          uint32_t pid, uint64_t started_ticks);

/* Mark all descendants of these processes; they themselves are marked only if they are
 * descendants of another of them. */
void processes_mark_descendants(struct processes *processes, const uint32_t *pids,
                                size_t count);

/* Return whether a process that runs a program is called so: glob equals or matches its
 * name (*, ?, [...]). A name that Linux has cut is compared by the first word of the
 * command line. */
bool process_is_called(const struct process_seen *process, const char *glob);

#endif
