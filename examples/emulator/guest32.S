/* SPDX-License-Identifier: MIT */
/* guest32.S - a 32-bit guest: calls by int 2e, eax the service, edx its arguments. */
#include "guest.h"

.macro service number, arguments
    mov $\number, %eax
    mov $\arguments, %edx
    int $0x2e
    test %eax, %eax
    jnz fail
.endm
.macro loop_of name
\name:
    dec %ecx
    jnz \name
.endm

    .text
    service CREATE_PROFILE, of_process
    service CREATE_PROFILE, of_all
    service CREATE_PROFILE, of_segment
    service CREATE_PROFILE, of_kernel
    service START_PROFILE, HANDLES
    service START_PROFILE, HANDLES + 4
    service START_PROFILE, HANDLES + 8
    service START_PROFILE, HANDLES + 12
    call work
    service YIELD, 0
    service STOP_PROFILE, HANDLES + 8 /* the segment counts no more */
    call work
    service STOP_PROFILE, HANDLES
    call work /* counted nowhere */
    service CLOSE, HANDLES
    service CLOSE, HANDLES + 4 /* a started one */
    service CLOSE, HANDLES + 8
    service STOP_PROFILE, HANDLES + 12
fail:
    push %eax
    mov %esp, %edx
    mov $EXIT, %eax
    int $0x2e
work:
    mov $TIMES_A, %ecx
    call loop_a
    mov $TIMES_B, %ecx
    jmp loop_b

    .org LOOP_A - CODE
    loop_of loop_a
    ret
    .org LOOP_B - CODE
    loop_of loop_b
    ret
    .org WORKER - CODE
    loop_of worker
    jmp worker_end
    .org WORKER_END - CODE
worker_end:
    .org CRASH_PARTIAL_BUCKET - CODE
    service CREATE_PROFILE, of_79_bytes
    jmp crash
    .org CRASH_END_INSIDE - CODE
    service CREATE_PROFILE, of_end
crash:
    service START_PROFILE, HANDLES + 20
    call work
    jmp fail

/* ProfileHandle, Process, ProfileBase, ProfileSize, BucketSize, Buffer, BufferSize,
 * ProfileSource, Affinity */
    .org DATA - CODE
    .long 0, 0, 0, 0, BEHIND_HANDLES, 0
of_process:
    .long HANDLES, -1, LOOP_A, 64, 4, PROCESS_COUNTERS, 16, 0, -1
of_all: /* on processor 1 alone */
    .long HANDLES + 4, 0, LOOP_A, 64, 4, GLOBAL_COUNTERS, 16, 0, 2
of_segment:
    .long HANDLES + 8, -1, SELECTOR, SEGMENT_BYTES, 0
    .long SEGMENT_COUNTERS, SEGMENT_BUFFER_BYTES, 0, -1
of_kernel: /* of all processes; kernel addresses need no privilege */
    .long HANDLES + 12, 0, 0x80001000, 64, 4, KERNEL_COUNTERS, 16, 0, -1
of_79_bytes: /* two buckets of 64 bytes, and one counter */
    .long HANDLES + 20, -1, LOOP_A - 64, 79, 6, CRASH_COUNTERS, 4, 0, -1
of_end: /* the loop is the first byte behind the region */
    .long HANDLES + 20, -1, LOOP_A - 4, 4, 2, CRASH_COUNTERS, 4, 0, -1

    .org KERNEL_IMAGE - CODE + IDLE
    loop_of idle
    jmp idle_end
    .org KERNEL_IMAGE - CODE + IDLE_END
idle_end:
    .org KERNEL_IMAGE - CODE + 0x1000
