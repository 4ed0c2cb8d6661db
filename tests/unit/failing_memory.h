/* SPDX-License-Identifier: MIT */
/*
 * failing_memory.h - lets an allocation of our own code fail. A test that depends on
 * failing_memory_dep is linked with --wrap for malloc, calloc, realloc and
 * reallocarray.
 */
#ifndef UNIT_FAILING_MEMORY_H
#define UNIT_FAILING_MEMORY_H

#include <stddef.h>

/* Allocations until the one that fails; 0: none does. */
extern size_t fail_at;

/* Allocations since it was set to 0. */
extern size_t made;

#endif
