/* SPDX-License-Identifier: MIT */
/* process_stat.c - fields of the text of /proc/PID/stat. */
#include "base/process_stat.h"

#include <stddef.h>
#include <string.h>

const char *
process_stat_field(const char *text, int number)
{
    const char *before = strrchr(text, ')');

    for (int i = PROCESS_STAT_STATE; before != NULL && i <= number; i++) {
        before = strchr(before + 1, ' ');
    }
    return before == NULL ? NULL : before + 1;
}
