/* SPDX-License-Identifier: MIT */
/*
 * signals.h - the signals that end a process and that a user, a session manager or a
 * timer sends. Neither set contains those of our own faults (SIGSEGV, SIGBUS, SIGFPE,
 * SIGILL, SIGTRAP, SIGSYS).
 */
#ifndef RECORD_SIGNALS_H
#define RECORD_SIGNALS_H

#include <signal.h>

/* Fill set with the signals that ask ntprof to end: SIGINT, SIGQUIT, SIGTERM and
 * SIGHUP. */
void signals_termination(sigset_t *set);

/* Fill set with the others: of timers, descriptors and power failure, user-defined and
 * realtime signals. */
void signals_others(sigset_t *set);

#endif
