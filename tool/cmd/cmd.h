/* SPDX-License-Identifier: MIT */
/*
 * cmd.h - the subcommands: one function and one file each.
 *
 * argv[0] is the subcommand's name; what follows are its arguments. Each gives the exit
 * status of ntprof. Messages go to standard error, one line each: "ntprof: COMMAND:
 * what, on what, why".
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdbool.h>

/* What ntprof exits with when it failed itself; run passes on its command's status
 * else. */
enum {
    CMD_OK = 0,
    CMD_FAILED = 125,
    CMD_NOT_EXECUTABLE = 126,
    CMD_NOT_FOUND = 127,
};

/* Rows of a table unless --rows says otherwise. */
enum { CMD_ROWS_DEFAULT = 20 };

/* The answer to who asks for call stacks. */
#define CMD_PLACES_NOT_CALLERS "ntprof counts places, not callers"

#define CMD_FILE_DEFAULT "ntprof.pb.gz"

int cmd_run(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_system(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_sources(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* Prints the help of a command (NULL: of ntprof) on standard output. False: no such
 * command. */
bool cmd_print_help(const char *command);

/* One line on standard error: "ntprof: COMMAND: ...". Returns CMD_FAILED. Hostile names
 * among the arguments must have gone through text_show. */
int cmd_fail(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "ABOUT: WHY" and "OPTION VALUE: WHY", with ABOUT and VALUE escaped. Always false, for
 * return. */
bool cmd_refuse(const char *command, const char *about, const char *why);
bool cmd_refuse_value(const char *command, const char *option, const char *value,
                      const char *why);

#endif
