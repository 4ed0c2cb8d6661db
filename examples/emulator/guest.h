/* SPDX-License-Identifier: MIT */
/* guest.h - what the emulator and its guests (guest32.S, guest64.S) agree on. */
#ifndef GUEST_H
#define GUEST_H

/* Services; the numbers are our own. YIELD: the other processors run. */
#define CREATE_PROFILE 1
#define CREATE_PROFILE_EX 2
#define START_PROFILE 3
#define STOP_PROFILE 4
#define CLOSE 5
#define YIELD 6
#define EXIT 7

/* The image: a page of code, one of data, and one that the kernel has. */
#define CODE 0x11000
#define LOOP_A (CODE + 0x200)
#define LOOP_B (CODE + 0x210)
#define WORKER (CODE + 0x220)
#define WORKER_END (CODE + 0x230)
#define CRASH_PARTIAL_BUCKET (CODE + 0x400)
#define CRASH_END_INSIDE (CODE + 0x500)
#define DATA (CODE + 0x1000)
#define HANDLES DATA /* those of a run, a word behind them, and that of a crash */
#define BEHIND_HANDLES 0x5AFE5AFE
#define KERNEL_IMAGE (CODE + 0x2000)
#define IDLE 0x20 /* there */
#define IDLE_END 0x30

/* Memory. The first counters are on two pages, which the emulator has apart. */
#define STACK_TOP 0x20000
#define PROCESS_COUNTERS 0x21FF8
#define GLOBAL_COUNTERS 0x23000
#define KERNEL_COUNTERS 0x23100
#define SEGMENT_COUNTERS 0x24000
#define SEGMENT_BYTES (CODE + 0x1000)            /* of the segment, from 0 */
#define SEGMENT_BUFFER_BYTES (SEGMENT_BYTES / 4) /* buckets of 16 bytes */
#define CRASH_COUNTERS 0x2AFFC                   /* the last counter of a page */
#define SELECTOR 0x18

/* Iterations: each is a block, and so a tick. What follows a loop is another one. */
#define TIMES_A 100
#define TIMES_B 300
#define TIMES_WORKER 1000
#define TIMES_IDLE 500

#endif
