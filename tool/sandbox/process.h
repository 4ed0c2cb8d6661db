/* SPDX-License-Identifier: MIT */
/*
 * process.h - processes that read one foreign file each and have no rights.
 *
 * They are forked from a template: a process that the command forks while it is small,
 * with no descriptor but its socket. The template reads nothing hostile. The processes
 * are children of the command, which kills one that takes too long. If a file takes
 * over the process that reads it, that does not outlast the process.
 */
#ifndef SANDBOX_PROCESS_H
#define SANDBOX_PROCESS_H

#include "base/module.h"
#include "sandbox/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* sandbox_work - the main function of such a process, which exits when this returns, or
 * by _exit(ENOMEM) if memory runs out. */
typedef void sandbox_work(struct wire *wire);

struct sandbox_process {
    struct wire wire;    /* the command's end */
    pid_t pid;           /* 0: it does not run */
    clockid_t clock;     /* its processor time */
    uint64_t cpu_end_ns; /* it is killed when clock gets there */
    bool patient;        /* it may wait for what it reads, such as a pipe; set by the
                          * caller after sandbox_start */
    uint64_t seen_ns;    /* clock when it was last checked */
    unsigned int quiet;  /* checks in a row at which its clock had not moved */
    unsigned int waits;  /* checks in a row at which it waited, as for a file system */
    bool late;           /* it was given up since its time was up */
    bool stuck;          /* it was given up since it did not answer, or it did not end
                          * when it was killed */
    int status;          /* as waitpid returns it, after its end */
    char module_why[MODULE_WHY_BYTES]; /* if its module cannot be loaded: a line for
                                        * people that says why and what to do */
    struct sandbox_process *next;      /* list of all that run */
};

/* sandbox_limits - how much one process may use. */
struct sandbox_limits {
    uint64_t memory_bytes;
    uint64_t cpu_ns;
};

/* Fork the template if there is none yet. Call it early, while the command has little
 * memory and shares none. Returns 0 or a negative errno. Any thread. */
int sandbox_prepare(void);

/* End the template. No other thread may start a process meanwhile. */
void sandbox_finish(void);

/*
 * Start a process. A template that does not answer is killed, and from then on all
 * starts fail. Any thread.
 *
 *   module  a module that work uses, or NULL. The template loads it, so that work can
 *           load it without rights and at no cost
 *
 * Returns 0, or a negative errno, with those of module_load among them, -ECHILD without
 * a template, and -ECANCELED once the time of sandbox_hurry is over; then there is
 * nothing to stop.
 */
int sandbox_start(struct sandbox_process *process, const struct module *module,
                  sandbox_work *work, const struct sandbox_limits *limits);

/* Return the processor time that a process has used. */
uint64_t sandbox_cpu_ns(const struct sandbox_process *process);

/* Return the private memory of a process; 0 if it does not run. */
uint64_t sandbox_memory_bytes(const struct sandbox_process *process);

/* sandbox_usage - what all processes use together. */
struct sandbox_usage {
    uint64_t cpu_ns;       /* also of those that exited */
    uint64_t memory_bytes; /* private memory of those that run */
};

/* Get the usage of all processes. Any thread. */
void sandbox_get_usage(struct sandbox_usage *usage);

/* Limit the time of processes, since the command ends: those that have not answered
 * within five seconds from now fail, and none starts after that. */
void sandbox_hurry(void);

/* Have sandbox_hurry called as soon as a descriptor is readable; -1: for none. Also
 * ends the effect of an earlier sandbox_hurry. Call it when no process runs. */
void sandbox_hurry_on(int fd);

/* Kill a process if it runs, and wait for its end for at most a second: one that waits
 * for a file system may end later. */
void sandbox_stop(struct sandbox_process *process);

/* Return for people why a process failed; only after sandbox_stop. */
const char *sandbox_why(const struct sandbox_process *process);

#endif
