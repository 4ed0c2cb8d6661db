/* SPDX-License-Identifier: MIT */
/*
 * preload/preload.h - what the parts of the preload object share.
 *
 * The preload object is loaded into each program that ntprof run starts where Linux
 * refuses perf events. It prints nothing, keeps nothing open after its start or that of
 * a child, and where it cannot work it leaves the program alone.
 */
#ifndef PRELOAD_PRELOAD_H
#define PRELOAD_PRELOAD_H

#include "hal/timer/thread_timer.h"
#include "preload/shared.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Functions of libc that the preload object's own code calls: those that it replaces in
 * the program (interpose.c), and those that libcs have by different versions. */
struct preload_libc {
    int (*sigaction)(int signal, const struct sigaction *action,
                     struct sigaction *previous);
    int (*pthread_sigmask)(int how, const sigset_t *set, sigset_t *previous);
    int (*pthread_getattr_np)(pthread_t thread, pthread_attr_t *attributes);
    int (*pthread_attr_getstack)(const pthread_attr_t *attributes, void **low,
                                 size_t *bytes);
    int (*pthread_attr_destroy)(pthread_attr_t *attributes);
};

/* preload_find_libc - find these functions of libc. Returns false if one is missing:
 * then the preload object cannot work. */
bool preload_find_libc(struct preload_libc *libc);

/* preload_leave_signals - leave signals to the program: the timers do not use them from
 * now on. Returns false if they go on with one of these, as no other is free. */
bool preload_leave_signals(const sigset_t *signals);

/* preload_count_loss - count threads that have lost their timers as unarmed. */
void preload_count_loss(struct thread_timer_loss loss);

/* preload_end_timers - delete the timers, as the program wants the last signal that
 * they could use: nothing more is counted, and the threads count as unarmed. */
void preload_end_timers(void);

/* preload_timer - return the timers of this process. NULL: there are none, or this
 * process is a child of vfork, which shares the memory of its parent. */
struct thread_timer *preload_timer(void);

/* preload_find - find libc's own function of a name that the preload object replaces.
 * Returns false if libc has none.
 *
 *   pointer  out: a pointer to a function
 */
bool preload_find(const char *name, void *pointer);

/* preload_find_exec - find libc's own functions for execute.c in advance: children of
 * vfork call these, and may not search for them. Returns false if one is missing. */
bool preload_find_exec(void);

/* preload_find_masks - do the same for masks.c, whose functions signal handlers
 * call. */
bool preload_find_masks(void);

/* preload_begin_thread - give the calling thread a timer, which is deleted when the
 * thread ends. */
void preload_begin_thread(void);

/* preload_end_process - record the processor time that this process has used, as it may
 * be about to exit. Called in signal handlers too. Hits after this call still count. */
void preload_end_process(void);

/*
 * preload_begin_exec - to be called before exec, also in a child of vfork: record that
 * the process is leaving its program, and pause the timers. Returns the number of its
 * record; 0: it has none.
 *
 * preload_end_exec - undo this after exec has failed. process: in, that number.
 */
uint32_t preload_begin_exec(void);
void preload_end_exec(uint32_t process);

/* preload_record_spawned - write a record of a child that was made to execute another
 * program, which may load no preload object. */
void preload_record_spawned(pid_t pid);

/* preload_record_unloaded - count a program that libc executes by a call of its own,
 * and that will load no preload object. */
void preload_record_unloaded(void);

/* ---- images.c: the code of this process ---- */

/*
 * images_open - find what is mapped now. Hits count by it from then on.
 *
 *   process  number of this process
 *   program  its name, PRELOAD_NAME_BYTES
 *
 * Returns where the mapping of the caller's stack ends; 0: unknown.
 */
uintptr_t images_open(struct preload_shared *shared, uint32_t process,
                      const char *program);

/* images_key - return the key (shared.h) of the slot for hits at an address. Called in
 * signal handlers. */
uint64_t images_key(const struct preload_shared *shared, uintptr_t pc,
                    uint32_t process);

/* images_report - have stacks_change_code called for all that is known. */
void images_report(void);

/* images_drop_unloaded - what dlclose unmapped is not known any more. */
void images_drop_unloaded(void);

/* images_after_fork - in a child of fork, make the lock free: a thread of the parent
 * may have held it, and that thread is not in the child. */
void images_after_fork(void);

/* ---- record.c: what is appended to the shared memory ---- */

/* record_open - map the shared memory that the environment leads to. NULL: there is
 * none. */
struct preload_shared *record_open(void);

/*
 * record_find_socket - find the command's socket for stacks. false: there is none, or
 * none that is certainly the command's.
 *
 *   path  out: to connect to
 */
enum { RECORD_PATH_BYTES = 48 };
bool record_find_socket(char path[RECORD_PATH_BYTES]);

/* record_put_command_path - write the path of descriptor fd of the command. After
 * record_open. */
void record_put_command_path(char path[RECORD_PATH_BYTES], unsigned fd);

/* record_process - number of a new process, which is the calling one, or with
 * PRELOAD_SPAWNED its child pid; 0: there is no place. */
uint32_t record_process(struct preload_shared *shared, uint32_t kind, pid_t pid,
                        const char *program);

/* record_segment - record a segment, unless the same one is recorded already. Returns
 * its number; 0: there is no room for it. The path is copied. */
uint32_t record_segment(struct preload_shared *shared,
                        const struct preload_segment *wanted, const char *path);

/* record_hit - add one hit to the slot of a key. Called in the signal handler: no lock,
 * no allocation. */
void record_hit(struct preload_shared *shared, uint64_t key);

/* ---- own_file.c: the object's own file, above all where it is a descriptor ---- */

/* own_file_begin - find the object's name, the first in LD_PRELOAD. If no descriptor,
 * own_file_loads always returns true, and own_file_descriptor -1. After record_open. */
void own_file_begin(void);

/*
 * own_file_loads - before exec, also in a child of vfork: can a program that is
 * executed with this environment load the object, if the environment asks for it? Opens
 * the descriptor again if it was closed and the command can be reached. Keeps errno.
 */
bool own_file_loads(char *const *environment);

/* own_file_descriptor - return the descriptor of the object, which is opened again if
 * it was closed. -1: there is none, or it cannot. Keeps errno. */
int own_file_descriptor(void);

/*
 * own_file_remove - copy an environment, for which own_file_loads returned false,
 * without the object.
 *
 *   memory  out: own_file_remove_bytes of the environment; the result is in it
 *
 * own_file_remove_bytes returns 0 if these are too many for a small stack.
 */
size_t own_file_remove_bytes(char *const *environment);
char *const *own_file_remove(char *const *environment, void *memory);

/* own_file_check_own_environment - the same for programs that are executed with this
 * process's own environment: take the object out of that. Returns false if it is not in
 * there, also as the program took it out. Keeps errno. */
bool own_file_check_own_environment(void);

/* ---- stacks.c: copies of stacks ---- */

/* stacks_begin - before all others, on the first thread, whose stack ends at first_end,
 * or 0. If no stacks are wanted, the others do nothing. */
void stacks_begin(const struct preload_shared *shared, const struct preload_libc *libc,
                  uintptr_t first_end);

/* stacks_open - make a ring (stack_ring.h) and hand it to the command. */
void stacks_open(uint32_t process);

/* stacks_change_code - code of a segment is mapped, or with segment 0 not any more. One
 * thread at a time. */
void stacks_change_code(uintptr_t base, uintptr_t length, uint32_t segment);

/* stacks_begin_thread - find the stack of the calling thread, before it is armed. */
void stacks_begin_thread(void);

/* stacks_after_fork - make a ring of its own for the child. */
void stacks_after_fork(uint32_t process);

/* stacks_take - copy a hit into the ring; in the signal handler. Returns false if it is
 * not there: it is to be counted. */
bool stacks_take(uint64_t key, const ucontext_t *machine);

#endif
