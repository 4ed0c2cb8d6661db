/* SPDX-License-Identifier: MIT */
/* process_stat.h - fields of the text of /proc/PID/stat. */
#ifndef BASE_PROCESS_STAT_H
#define BASE_PROCESS_STAT_H

/* Numbers of fields, as in proc(5). */
enum {
    PROCESS_STAT_STATE = 3,
    PROCESS_STAT_TIMES = 14,  /* in user mode, in the kernel: clock ticks */
    PROCESS_STAT_START = 22,  /* clock ticks since the boot */
    PROCESS_STAT_BOUNDS = 48, /* of arguments, of environment: addresses, two of each */
};

/* Return where a field of the third or later begins, or NULL if it is not there. The
 * name before them, in parentheses, may contain any byte. */
const char *process_stat_field(const char *text, int number);

#endif
