/* SPDX-License-Identifier: MIT */
/*
 * keeper.h - a process that gives the terminal back if we end without doing so, as by SIGKILL.
 *
 * It holds the terminal and the reading end of a pipe, and nothing else of ours. The pipe tells it when the
 * terminal is taken and given back; its end tells that we are gone. What has changed the terminal since, such
 * as the shell, is not disturbed: settings are put back only if they are still ours.
 */
#ifndef TUI_KEEPER_H
#define TUI_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

/* Bytes that make a terminal show its main screen again. */
enum { TUI_KEEPER_BYTES_MAX = 512 };

struct tui_keeper {
    pid_t pid;
    int fd; /* -1: there is none */
};

/* Before there are threads. 0 or a negative errno; tui_keeper_stop is due in any case. */
int tui_keeper_start(struct tui_keeper *keeper, int terminal_fd);

/*
 * The terminal is taken, or about to be.
 *
 *   ours   its settings from now on
 *   bytes  what to write if we end, at most TUI_KEEPER_BYTES_MAX
 */
void tui_keeper_enter(const struct tui_keeper *keeper, const struct termios *ours,
                      const char *bytes, size_t size);

/* The terminal was given back. */
void tui_keeper_leave(const struct tui_keeper *keeper);

/* Ends the process. */
void tui_keeper_stop(struct tui_keeper *keeper);

#endif
