/* SPDX-License-Identifier: MIT */
/*
 * child.h - the command of ntprof run: started as if we were not there, held until it
 * is watched, and its end passed on.
 */
#ifndef CMD_CHILD_H
#define CMD_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t pid;
    int go_fd;     /* written once: the child may exec */
    int result_fd; /* errno of a failed exec, or nothing */
    int status;    /* as of waitpid, once ended */
};

/* Call first: the command gets the limits and signals of our start. Then makes what
 * would end us in the middle of writing (a pipe that nobody reads, a file size limit)
 * an error instead. */
void child_prepare(void);

/* Forks; the child waits. 0 or a negative errno. */
int child_fork(struct child *child, char **command);

/* Lets the child exec. 0, or the negative errno of its exec; then it is gone. */
int child_exec(struct child *child);

/* Makes the child go away that was never let go. */
void child_abandon(struct child *child);

/*
 * Waits for the end. Until then, Ctrl-C and Ctrl-\ of the terminal are the command's
 * alone; SIGTERM, SIGHUP and signals sent to us by others are forwarded to it.
 * Afterwards the second signal of a kind ends us.
 */
void child_wait(struct child *child);

/* The exit status to pass on; a command that died by a signal takes this process with
 * it. */
int child_pass_on(const struct child *child);

#endif
