/* SPDX-License-Identifier: MIT */
/*
 * service.h - reports the agent's state to the service manager: the protocol of
 * sd_notify(3), a datagram to the socket in NOTIFY_SOCKET. Without that variable
 * nothing is sent.
 */
#ifndef DAEMON_SERVICE_H
#define DAEMON_SERVICE_H

#include <stdint.h>

/* Send a state, as a format: "READY=1\nSTATUS=...". Failures are ignored: the agent
 * runs as well without a manager. */
void service_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Return the time after which to send "WATCHDOG=1" again: half of what the manager
 * allows; 0: it does not wait for it. */
uint64_t service_watchdog_ns(void);

#endif
