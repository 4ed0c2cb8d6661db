/* SPDX-License-Identifier: MIT */
/*
 * signals.h - the signals that end a process and that a user, a session manager or a
 * timer sends. Those of a fault of our own (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
 * SIGSYS) are in neither set.
 */
#ifndef CMD_SIGNALS_H
#define CMD_SIGNALS_H

#include <signal.h>

/* Those by which somebody insists: SIGINT, SIGQUIT, SIGTERM and SIGHUP. */
void signals_insistent(sigset_t *set);

/* All others: of timers, of descriptors, of the power, for users, and the realtime
 * signals. */
void signals_others(sigset_t *set);

#endif
