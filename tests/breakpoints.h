/* SPDX-License-Identifier: MIT */
/*
 * breakpoints.h - whether execution breakpoints fire on this machine, found out by
 * using one.
 */
#ifndef TESTS_BREAKPOINTS_H
#define TESTS_BREAKPOINTS_H

#include <stdbool.h>

/* Not where they open and never fire, nor with NTPROF_TEST_BREAKPOINTS=never in the
 * environment. */
bool breakpoints_fire(void);

/* need_breakpoints - skips the test with the reason where they do not: its first
 * statement, so that nothing is left open. */
void need_breakpoints(void);

#endif
