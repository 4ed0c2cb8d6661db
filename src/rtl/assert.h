/* SPDX-License-Identifier: MIT */
/*
 * rtl/assert.h - asserts for the core, checked in builds without NDEBUG.
 *
 * The core is freestanding, so <assert.h>, which prints and aborts, cannot be used: a
 * broken invariant stops at an undefined instruction, where a debugger shows the line.
 * Timers and the preload object use it too: in signal handlers of a program, where any
 * lock of libc may be held, nothing can be printed.
 */
#ifndef RTL_ASSERT_H
#define RTL_ASSERT_H

#ifdef NDEBUG
#define RTL_ASSERT(condition) ((void)0)
#else
#define RTL_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#endif

#endif
