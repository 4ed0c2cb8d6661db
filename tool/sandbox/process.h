/* SPDX-License-Identifier: MIT */
/*
 * process.h - processes that read one foreign file each and have no rights.
 *
 * They are forked from a template: a process that the command forks while it is small,
 * with no descriptor but its socket, and that sees nothing hostile.
 * They are children of the command, which kills one that takes too long. What one of
 * them was made to do by its file ends with it.
 */
#ifndef SANDBOX_PROCESS_H
#define SANDBOX_PROCESS_H

#include "base/module.h"
#include "sandbox/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* What such a process does; it ends when this returns, or by _exit(ENOMEM) if memory
 * runs out. */
typedef void sandbox_work(struct wire *wire);

struct sandbox_process {
    struct wire wire; /* the command's end */
    pid_t pid;        /* 0: there is none */
    clockid_t clock;  /* of its processor time */
    uint64_t cpu_end_ns;
    bool patient; /* it may wait for what it reads, such as a pipe */
    uint64_t seen_ns;
    unsigned int quiet; /* looks at it since its clock moved */
    unsigned int waits; /* looks in a row at which it waited, as for a file system */
    bool late;
    bool stuck;
    int status;                        /* as waitpid gives it, once it ended */
    char module_why[MODULE_WHY_BYTES]; /* if its module is not there: a line that says
                                        * why and what to do */
    struct sandbox_process *next;      /* of those that run */
};

/* sandbox_limits - what one process may take. */
struct sandbox_limits {
    uint64_t memory_bytes;
    uint64_t cpu_ns;
};

/* Forks the template if there is none yet: best before there is much memory, or any
 * that is shared. 0 or negative errno. Any thread. */
int sandbox_prepare(void);

/* Ends the template, when no other thread asks for a process. */
void sandbox_finish(void);

/*
 * Starts a process. 0 or negative errno: then there is nothing to stop. A template that
 * does not answer is killed, and there are no more processes. Any thread.
 *
 *   module  in: that the work uses, or NULL. The template loads it, so that the work's
 *           own load succeeds and costs nothing; else, the statuses of module_load
 */
int sandbox_start(struct sandbox_process *process, const struct module *module,
                  sandbox_work *work, const struct sandbox_limits *limits);

/* Processor time that it has used. */
uint64_t sandbox_cpu_ns(const struct sandbox_process *process);

/* Private memory that it has; 0 if it is not there. */
uint64_t sandbox_memory_bytes(const struct sandbox_process *process);

/* sandbox_usage - what all processes take. */
struct sandbox_usage {
    uint64_t cpu_ns;       /* of those that ended too */
    uint64_t memory_bytes; /* private, of those that run */
};

/* Any thread. */
void sandbox_get_usage(struct sandbox_usage *usage);

/* The command ends: processes that have not answered within five seconds from now fail,
 * and none starts after that. */
void sandbox_hurry(void);

/* Do so once a descriptor is readable; -1: no descriptor decides. Either takes back an
 * earlier sandbox_hurry too. Call it when no process runs. */
void sandbox_hurry_on(int fd);

/* Kills it if it is there, and waits for its end, for a second: one that waits for a
 * file system may end later. */
void sandbox_stop(struct sandbox_process *process);

/* Why a process that has failed ended, for people; after sandbox_stop. */
const char *sandbox_why(const struct sandbox_process *process);

#endif
