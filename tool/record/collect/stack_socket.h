/* SPDX-License-Identifier: MIT */
/*
 * stack_socket.h - where preload objects hand over their rings (preload/stack_ring.h).
 *
 * The socket has no name. Programs reach it by the command's descriptor in /proc, as
 * far as the kernel lets them read this process.
 */
#ifndef RECORD_COLLECT_STACK_SOCKET_H
#define RECORD_COLLECT_STACK_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

struct stack_socket {
    int listening; /* -1: there is none */
    int place;     /* what programs connect to, as /proc/PID/fd/PLACE; above 2 */
};

/* Open a socket; a folder for temporary files is needed for a moment. Returns 0 or a
 * negative errno. */
int stack_socket_open(struct stack_socket *socket);
void stack_socket_close(struct stack_socket *socket);

/* Take the next connection. Returns false if none waits.
 *
 *   fd   out: of the ring that was handed over; -EMFILE: this process has no room for
 *        its descriptor; -EACCES: a security module keeps it from this process; -1:
 *        none was handed over
 *   pid  out: of the process, as the kernel says; 0: it has no number here
 */
bool stack_socket_take(const struct stack_socket *socket, int *fd, uint32_t *pid);

/* Close a descriptor that a program sent: it may be of any file, whose file system may
 * not answer. */
void stack_socket_drop(int fd);

#endif
