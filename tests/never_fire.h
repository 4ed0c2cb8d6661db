/* SPDX-License-Identifier: MIT */
/* never_fire.h - breakpoints that open and never fire. */
#ifndef TESTS_NEVER_FIRE_H
#define TESTS_NEVER_FIRE_H

#include <stdbool.h>

/* true from the start; false: breakpoints are what the machine makes of them. */
extern bool never_fire;

#endif
