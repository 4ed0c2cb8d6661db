/* SPDX-License-Identifier: MIT */
/* advice.h - the lines that allow more: for the machine itself and for each container
 * engine. */
#ifndef DOCTOR_ADVICE_H
#define DOCTOR_ADVICE_H

#include "doctor/machine.h"

enum { ADVICE_LINES_MAX = 6 };

struct advice {
    const char *subject; /* what the lines are for, such as "docker" */
    /* Pairs of a command or line of configuration and what it does; NULL at the end. */
    const char *lines[ADVICE_LINES_MAX + 1];
};

/* advice_list - all advice; the last has no subject. */
extern const struct advice advice_list[];

/* advice_applies - return whether the advice helps in what this process runs in. All
 * advice does in a container of an unknown engine. */
bool advice_applies(const struct advice *advice, enum machine_container container);

#endif
