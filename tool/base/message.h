/* SPDX-License-Identifier: MIT */
/*
 * message.h - error messages and exit statuses of the command.
 *
 * Messages are lines on standard error: "ntprof: COMMAND: what failed, on what, why".
 */
#ifndef BASE_MESSAGE_H
#define BASE_MESSAGE_H

#include <stdbool.h>

/* Exit statuses of ntprof itself; otherwise run passes on the command's. */
enum {
    CMD_OK = 0,
    CMD_FAILED = 125,
    CMD_NOT_EXECUTABLE = 126,
    CMD_NOT_FOUND = 127,
};

/* End of the help of commands that a signal ends. */
#define CMD_HELP_STATUS \
    "Exit status: 0, however it came to the end; 125 if ntprof failed, or may not.\n"

/* Print "ntprof: COMMAND: ..." as one line on standard error. Returns CMD_FAILED. Names
 * from outside must have been escaped with text_show. */
int cmd_fail(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Print "ABOUT: WHY" or "OPTION VALUE: WHY", with ABOUT and VALUE escaped. Returns
 * false, so that callers can return its value. */
bool cmd_refuse(const char *command, const char *about, const char *why);
bool cmd_refuse_value(const char *command, const char *option, const char *value,
                      const char *why);

#endif
