/* SPDX-License-Identifier: MIT */
/*
 * cmd.h - the subcommands, each in its own file.
 *
 * argv[0] is the name of the subcommand, and its arguments follow. Each returns the
 * exit status of ntprof. Messages are lines on standard error: "ntprof: COMMAND: what
 * failed, on what, why".
 */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include <stdbool.h>

/* Exit statuses of ntprof itself; otherwise run passes on the command's. */
enum {
    CMD_OK = 0,
    CMD_FAILED = 125,
    CMD_NOT_EXECUTABLE = 126,
    CMD_NOT_FOUND = 127,
};

/* Rows of a table without --rows. */
enum { CMD_ROWS_DEFAULT = 20 };

/* Reason for refusing options that ask for call stacks. */
#define CMD_PLACES_NOT_CALLERS "ntprof counts places, not callers"

#define CMD_FILE_DEFAULT "ntprof.pb.gz"

int cmd_run(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_system(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_agent(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_store(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_sources(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* Print the help of a command, or of ntprof if it is NULL, on standard output. Returns
 * false if there is no such command. */
bool cmd_print_help(const char *command);

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
