/* SPDX-License-Identifier: MIT */
/* log.c - reads NTPROF_LOG, and has the library log where the command does. */
#include "cli/log.h"

#include "base/command_log.h"
#include "cli/cmd.h"

#include <ntprof/ntprof.h>
#include <stdlib.h>

_Static_assert((int)COMMAND_LOG_ERROR == (int)NTPROF_LOG_ERROR &&
                   (int)COMMAND_LOG_DEBUG == (int)NTPROF_LOG_DEBUG,
               "levels are the library's");

/* Write a message of the library to the command's log; for ntprof_set_log. */
static void
take_message(void *context, int level, const char *message)
{
    (void)context;
    command_log_write(level, "%s", message);
}

bool
log_begin(void)
{
    const char *const setting = secure_getenv("NTPROF_LOG");
    struct whole_file_error error;

    if (setting == NULL || setting[0] == '\0') {
        return true;
    }
    if (!command_log_open(setting, &error)) {
        (void)cmd_fail(NULL, "%s", error.text);
        return false;
    }
    return NT_SUCCESS(ntprof_set_log(take_message, NULL, command_log_level));
}
