/* SPDX-License-Identifier: MIT */
/*
 * preload/preload.h - what the parts of the preloaded agent share.
 *
 * The agent is loaded into each program that ntprof run starts where Linux refuses perf
 * events. It prints nothing, opens nothing after its start, and where it cannot work it
 * leaves the program alone.
 */
#ifndef PRELOAD_PRELOAD_H
#define PRELOAD_PRELOAD_H

#include "hal/timer/thread_timer.h"
#include "preload/shared.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Functions of libc that the agent replaces in the program (interpose.c). Its own code
 * calls these. */
struct agent_libc {
    int (*sigaction)(int signal, const struct sigaction *action,
                     struct sigaction *previous);
    int (*pthread_sigmask)(int how, const sigset_t *set, sigset_t *previous);
};

/* agent_find_libc - find them. false: one is missing, and the agent cannot work. */
bool agent_find_libc(struct agent_libc *libc);

/* agent_leave_signal - let the timers take another signal, if this one is theirs.
 * Without another one nothing more is counted. */
void agent_leave_signal(int number);

/* agent_timer - the timers of this process; NULL: there are none, or it is a child of
 * vfork, which shares the memory of its parent. */
struct thread_timer *agent_timer(void);

/* agent_find - find a function of libc that the agent replaces. false: there is none.
 *
 *   pointer  out: a pointer to a function
 */
bool agent_find(const char *name, void *pointer);

/* agent_find_exec - find the functions of execute.c, which children of vfork call. */
bool agent_find_exec(void);

/* agent_find_masks - find the functions of masks.c, which signal handlers call. */
bool agent_find_masks(void);

/* agent_begin_thread - arm the calling thread until it ends. */
void agent_begin_thread(void);

/* agent_end_process - record the processor time of this process, also in the signal
 * handler. Later hits count. */
void agent_end_process(void);

/*
 * agent_begin_exec - before a call of exec, in any process. Returns the number of the
 * process, for agent_end_exec: exec has failed.
 */
uint32_t agent_begin_exec(void);
void agent_end_exec(uint32_t process);

/* agent_record_spawned - a child that executes a program. */
void agent_record_spawned(pid_t pid);

/* ---- images.c: the code of this process ---- */

/*
 * images_open - find what is mapped now. Hits count by it from then on.
 *
 *   process  number of this process
 *   program  its name, AGENT_NAME_BYTES
 */
void images_open(struct agent_shared *shared, uint32_t process, const char *program);

/* images_key - the key of an address; in the signal handler. */
uint64_t images_key(const struct agent_shared *shared, uintptr_t pc, uint32_t process);

/* images_drop_unloaded - what dlclose unmapped is not known any more. */
void images_drop_unloaded(void);

/* images_after_fork - no other thread has the lock in a child of fork. */
void images_after_fork(void);

/* ---- record.c: what is appended to the shared memory ---- */

/* record_open - map the memory that the environment leads to; NULL: there is none. */
struct agent_shared *record_open(void);

/* record_process - number of a new process, which is the calling one, or with
 * AGENT_SPAWNED its child pid; 0: there is no place. */
uint32_t record_process(struct agent_shared *shared, uint32_t kind, pid_t pid,
                        const char *program);

/* record_segment - number of the segment, which may be one that is there already; 0:
 * there is no place. The path is copied. */
uint32_t record_segment(struct agent_shared *shared, const struct agent_segment *wanted,
                        const char *path);

/* record_hit - add one; in the signal handler. */
void record_hit(struct agent_shared *shared, uint64_t key);

#endif
