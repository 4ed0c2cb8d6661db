/* SPDX-License-Identifier: MIT */
/*
 * segment_code.h - code segments of one's own: a 32-bit and a 16-bit one in the
 * process's LDT, at the same base, with a loop in each, and the same loops in the flat
 * segments. x86-64 alone.
 *
 * An interrupted instruction has an offset in its segment that differs from its linear
 * address by SEGMENT_BASE, unless the segment is flat.
 */
#ifndef TESTS_INTEGRATION_PROGRAMS_SEGMENT_CODE_H
#define TESTS_INTEGRATION_PROGRAMS_SEGMENT_CODE_H

#include <stdint.h>

/* Linear; above all offsets in the segments and below 4 GB. */
#define SEGMENT_BASE UINT64_C(0x30000000)
#define SEGMENT_BYTES UINT64_C(0x10000)

/* Selectors: entries 1 and 2 of the LDT for ring 3; and Linux' own flat segments. */
enum { SELECTOR_32 = 0x0F, SELECTOR_16 = 0x17 };
enum { SELECTOR_FLAT_64 = 0x33, SELECTOR_FLAT_32 = 0x23 };

/* Offsets from SEGMENT_BASE of loops that execute their first instruction once each
 * round. All instructions of a loop and its way out begin within the 8 bytes there
 * (LOOP_64: the loop alone). */
enum { LOOP_32 = 0x1100, LOOP_16 = 0x2200, LOOP_64 = 0x3300 };
/* The second instruction of LOOP_32, executed as often. */
enum { LOOP_32_SECOND = LOOP_32 + 1 };

/* Makes segments and loops, once in a process; children have them too. Returns 0 or
 * negative errno: -ENOSYS where the kernel has no LDT. */
int segment_make(void);

/* Runs the loop at an offset of a segment, 1 round or more. By any thread. */
void segment_run(uint64_t selector, uint64_t offset, uint32_t rounds);

/* What the program segments does, one word from standard input after the other, until
 * the end of it; each is answered on standard output by a word. The first answer comes
 * unasked, when the segments are there: 0, or a positive errno. */
enum {
    SEGMENT_COMMAND_RUN_32 = 1, /* in the low 32 bits the rounds; answered by 0 */
    SEGMENT_COMMAND_RUN_16 = 2,
    SEGMENT_COMMAND_THREAD_32 = 3, /* RUN_32 in a new thread, and its end awaited */
    SEGMENT_COMMAND_FORK =
        4 /* answered by the pid of a child that takes all further words */
};
#define SEGMENT_WORD(command, rounds) ((uint64_t)(command) << 32 | (uint32_t)(rounds))

#endif
