/* SPDX-License-Identifier: MIT */
/*
 * breakpoints.h - whether execution breakpoints fire on this machine, found out by
 * using one.
 */
#ifndef TESTS_BREAKPOINTS_H
#define TESTS_BREAKPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False where they open and never fire, as in a program with never_fire.c. */
bool breakpoints_fire(void);

/* need_breakpoints - skips the test with the reason where they do not: its first
 * statement, so that nothing is left open. */
void need_breakpoints(void);

/* code_offset - where in this program's file an address of its code is. */
uint64_t code_offset(uint64_t address);

/* name_exact_source - name the source that counts executions of an instruction of this
 * program: a breakpoint, or for root a uprobe where breakpoints do not fire. */
void name_exact_source(char *name, size_t size, uint64_t address);

#endif
