/* SPDX-License-Identifier: MIT */
/* refuse.c - prints errors about a named thing. */
#include "base/text.h"
#include "cli/cmd.h"

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

    cmd_fail(command, "%s %s: %s", option,
             value[0] != '\0' ? text_show(shown, sizeof(shown), value) : "''", why);
    return false;
}
