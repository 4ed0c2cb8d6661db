/* SPDX-License-Identifier: MIT */
/*
 * child.h - runs the command of ntprof run as if ntprof were not there. The child waits
 * until it is watched, and its exit status is passed on.
 */
#ifndef RECORD_CHILD_H
#define RECORD_CHILD_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* child - the process of the command. */
struct child {
    pid_t pid;
    int go_fd;     /* a byte that is written here lets the child exec */
    int result_fd; /* the child writes errno here if exec fails */
    int status;    /* as of waitpid, once the child has exited */
};

/* child_setting - what the command gets beside what ntprof has. */
struct child_setting {
    char **environment; /* NULL: child_environment() */
    int inherited[2];   /* descriptors that stay open when it execs; or -1 */
};

/* Save the limits, signals and environment that the command will get, and ignore the
 * signals that would end ntprof while it writes (closed pipe, file size limit). To be
 * called before anything changes them. */
void child_prepare(void);

/* Return the environment that child_prepare saved. */
char **child_environment(void);

/* Return how many descriptors the command may have, as child_prepare saved it. */
rlim_t child_file_limit(void);

/* Fork a child for the command; it waits for child_exec or child_abandon. Signals for
 * the command are forwarded to it from now on. Returns 0 or a negative errno. */
int child_fork(struct child *child, char **command,
               const struct child_setting *setting);

/* Let the child execute the command. Returns 0, or a negative errno if that fails; the
 * child has exited then. */
int child_exec(struct child *child);

/* End a child that will not be allowed to exec. */
void child_abandon(struct child *child);

/*
 * Wait for the child's exit. Until then only the command acts on Ctrl-C and Ctrl-\ of
 * the terminal; SIGTERM, SIGHUP and signals that other processes send are forwarded to
 * it. Afterwards the second signal of a kind ends ntprof.
 */
void child_wait(struct child *child);

/* Return the exit status to pass on. If a signal ended the command, this ends ntprof
 * with the same signal. */
int child_pass_on(const struct child *child);

#endif
