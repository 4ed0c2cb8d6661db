/* SPDX-License-Identifier: MIT */
/*
 * preload/preload.h - what the parts of the preload object share.
 *
 * The preload object is loaded into each program that ntprof run starts where Linux
 * refuses perf events. It prints nothing, opens nothing after its start, and where it
 * cannot work it leaves the program alone.
 */
#ifndef PRELOAD_PRELOAD_H
#define PRELOAD_PRELOAD_H

#include "hal/timer/thread_timer.h"
#include "preload/shared.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Functions of libc that the preload object replaces in the program (interpose.c).
 * Its own code calls these. */
struct preload_libc {
    int (*sigaction)(int signal, const struct sigaction *action,
                     struct sigaction *previous);
    int (*pthread_sigmask)(int how, const sigset_t *set, sigset_t *previous);
};

/* preload_find_libc - find them. false: one is missing, and the preload object
 * cannot work. */
bool preload_find_libc(struct preload_libc *libc);

/* preload_leave_signal - let the timers take another signal, if this one is theirs.
 * Without another one nothing more is counted. */
void preload_leave_signal(int number);

/* preload_timer - the timers of this process; NULL: there are none, or it is a child of
 * vfork, which shares the memory of its parent. */
struct thread_timer *preload_timer(void);

/* preload_find - find a function of libc that the preload object replaces. false: there
 * is none.
 *
 *   pointer  out: a pointer to a function
 */
bool preload_find(const char *name, void *pointer);

/* preload_find_exec - find the functions of execute.c, which children of vfork call. */
bool preload_find_exec(void);

/* preload_find_masks - find the functions of masks.c, which signal handlers call. */
bool preload_find_masks(void);

/* preload_begin_thread - arm the calling thread until it ends. */
void preload_begin_thread(void);

/* preload_end_process - record the processor time of this process, also in the signal
 * handler. Later hits count. */
void preload_end_process(void);

/*
 * preload_begin_exec - before a call of exec, in any process. Returns the number of the
 * process, for preload_end_exec: exec has failed.
 */
uint32_t preload_begin_exec(void);
void preload_end_exec(uint32_t process);

/* preload_record_spawned - write a record of a child that was made to execute another
 * program, which may load no preload object. */
void preload_record_spawned(pid_t pid);

/* ---- images.c: the code of this process ---- */

/*
 * images_open - find what is mapped now. Hits count by it from then on.
 *
 *   process  number of this process
 *   program  its name, PRELOAD_NAME_BYTES
 */
void images_open(struct preload_shared *shared, uint32_t process, const char *program);

/* images_key - the key of an address; in the signal handler. */
uint64_t images_key(const struct preload_shared *shared, uintptr_t pc,
                    uint32_t process);

/* images_drop_unloaded - what dlclose unmapped is not known any more. */
void images_drop_unloaded(void);

/* images_after_fork - no other thread has the lock in a child of fork. */
void images_after_fork(void);

/* ---- record.c: what is appended to the shared memory ---- */

/* record_open - map the memory that the environment leads to; NULL: there is none. */
struct preload_shared *record_open(void);

/* record_process - number of a new process, which is the calling one, or with
 * PRELOAD_SPAWNED its child pid; 0: there is no place. */
uint32_t record_process(struct preload_shared *shared, uint32_t kind, pid_t pid,
                        const char *program);

/* record_segment - number of the segment, which may be one that is there already; 0:
 * there is no place. The path is copied. */
uint32_t record_segment(struct preload_shared *shared,
                        const struct preload_segment *wanted, const char *path);

/* record_hit - add one hit to the slot of a key. Called in the signal handler: no lock,
 * no allocation. */
void record_hit(struct preload_shared *shared, uint64_t key);

#endif
