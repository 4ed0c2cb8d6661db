/* SPDX-License-Identifier: MIT */
/* message.c - prints errors, above the line that progress.h shows. */
#include "base/message.h"
#include "base/progress.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

int
cmd_fail(const char *command, const char *format, ...)
{
    va_list arguments;

    progress_end();
    fputs("ntprof: ", stderr);
    if (command != NULL) {
        fprintf(stderr, "%s: ", command);
    }
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return CMD_FAILED;
}

bool
cmd_refuse(const char *command, const char *about, const char *why)
{
    char shown[256];

    cmd_fail(command, "%s: %s", text_show(shown, sizeof(shown), about), why);
    return false;
}

bool
cmd_refuse_value(const char *command, const char *option, const char *value,
                 const char *why)
{
    char shown[256];

    cmd_fail(command, "%s %s: %s", option, text_show(shown, sizeof(shown), value), why);
    return false;
}
