/* SPDX-License-Identifier: MIT */
/*
 * command_log.h - what the command does, for people who look for a fault: lines with
 * time and process on standard error or in a file, which NTPROF_LOG asks for.
 *
 * Text from outside is escaped, and secrets of URLs are left out (text_show). Nothing
 * is logged for each hit or row, in signal handlers, nor in processes without rights:
 * the command logs what it asks them.
 */
#ifndef BASE_COMMAND_LOG_H
#define BASE_COMMAND_LOG_H

#include "base/whole_file.h"

#include <stdbool.h>

/* Levels, numbered as the library's NTPROF_LOG_... */
enum {
    COMMAND_LOG_OFF = -1,
    COMMAND_LOG_ERROR,
    COMMAND_LOG_WARNING,
    COMMAND_LOG_INFO,
    COMMAND_LOG_DEBUG
};

/* Lines above this level are not wanted; atomic. */
extern int command_log_level;

static inline bool
command_log_wants(int level)
{
    return level <= __atomic_load_n(&command_log_level, __ATOMIC_RELAXED);
}

/* COMMAND_LOG - log a line at level debug. Off it costs one load and evaluates no
 * argument. */
#define COMMAND_LOG(...)                                       \
    do {                                                       \
        if (command_log_wants(COMMAND_LOG_DEBUG)) {            \
            command_log_write(COMMAND_LOG_DEBUG, __VA_ARGS__); \
        }                                                      \
    } while (0)

/* command_log_write - log a line, which is cut at some 1900 bytes. If that fails, says
 * so once on standard error and logs no more. Any thread. Keeps errno. */
void command_log_write(int level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * command_log_open - start to log, before there are threads.
 *
 *   setting  in: LEVEL, for standard error, or LEVEL:FILE. LEVEL is error, warning,
 *            info or debug. Lines are appended to FILE, which must be a regular file
 *            of the caller's own without other names, or not be there: then it is made,
 *            for the caller alone. Links to it are followed as file_place.h says.
 *
 * Returns false with error set, and logs nothing.
 */
bool command_log_open(const char *setting, struct whole_file_error *error);

/* command_log_stop - log no more: in a process that may not write. */
void command_log_stop(void);

#endif
