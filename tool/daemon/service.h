/* SPDX-License-Identifier: MIT */
/*
 * service.h - reports the agent's state to the service manager: the protocol of
 * sd_notify(3), a datagram to the socket in NOTIFY_SOCKET. Without that variable
 * nothing is sent.
 */
#ifndef DAEMON_SERVICE_H
#define DAEMON_SERVICE_H

#include <stdint.h>

/* service_notify - send a state, such as "READY=1\nSTATUS=..."; a printf format.
 * Failures are ignored: the agent runs as well without a manager. */
void service_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* service_watchdog_ns - return the time after which to send "WATCHDOG=1" again, which
 * is half of what the manager allows; 0 if it does not expect that. */
uint64_t service_watchdog_ns(void);

#endif
