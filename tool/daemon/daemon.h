/* SPDX-License-Identifier: MIT */
/*
 * daemon.h - records the whole machine in windows, until a signal ends it.
 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include "daemon/settings.h"

enum agent_end {
    AGENT_STOPPED, /* SIGTERM, SIGINT or SIGQUIT */
    AGENT_RELOAD,  /* SIGHUP: run again with new settings */
    AGENT_FAILED,  /* an error line was printed */
    AGENT_REFUSED, /* as AGENT_FAILED: it did not start with these settings */
};

/*
 * agent_run - record until a signal. The window that is recorded when it comes goes to
 * the spool and, if the store takes it, to the store.
 *
 *   settings   must outlive the call
 *   signal_fd  a signalfd, as of record/ending.h
 */
enum agent_end agent_run(const struct agent_settings *settings, int signal_fd);

#endif
