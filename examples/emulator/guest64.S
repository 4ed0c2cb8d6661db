/* SPDX-License-Identifier: MIT */
/* guest64.S - a 64-bit guest: calls by syscall, eax the service; arguments in r10, rdx,
 * r8, r9, and on the stack behind 0x28 bytes. */
#include "guest.h"

.macro service number, arguments
    mov $\number, %eax
    mov $\arguments, %esi
    call serve
    test %eax, %eax
    jnz fail
.endm
.macro loop_of name
\name:
    dec %ecx
    jnz \name
.endm

    .text
    service CREATE_PROFILE_EX, of_process
    service CREATE_PROFILE_EX, of_all
    service CREATE_PROFILE_EX, of_kernel
    service START_PROFILE, HANDLES
    service START_PROFILE, HANDLES + 8
    service START_PROFILE, HANDLES + 16
    call work
    service YIELD, HANDLES
    call work
    service STOP_PROFILE, HANDLES
    call work /* counted nowhere */
    service CLOSE, HANDLES
    service CLOSE, HANDLES + 8 /* a started one */
    service STOP_PROFILE, HANDLES + 16
fail:
    mov %eax, %r10d
    mov $EXIT, %eax
    syscall
/* Loads the ten arguments at esi, as a stub of the system's library does. */
serve:
    sub $0x68, %rsp
    mov 0x20(%rsi), %rcx
    mov %rcx, 0x28(%rsp)
    mov 0x28(%rsi), %rcx
    mov %rcx, 0x30(%rsp)
    mov 0x30(%rsi), %rcx
    mov %rcx, 0x38(%rsp)
    mov 0x38(%rsi), %rcx
    mov %rcx, 0x40(%rsp)
    mov 0x40(%rsi), %rcx
    mov %rcx, 0x48(%rsp)
    mov 0x48(%rsi), %rcx
    mov %rcx, 0x50(%rsp)
    mov (%rsi), %r10
    mov 8(%rsi), %rdx
    mov 0x10(%rsi), %r8
    mov 0x18(%rsi), %r9
    syscall
    add $0x68, %rsp
    ret
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
    service CREATE_PROFILE_EX, of_79_bytes
    jmp crash
    .org CRASH_END_INSIDE - CODE
    service CREATE_PROFILE_EX, of_end
crash:
    service START_PROFILE, HANDLES + 32
    call work
    jmp fail

/* ProfileHandle, Process, ProfileBase, ProfileSize, BucketSize, Buffer, BufferSize,
 * ProfileSource, GroupCount, AffinityArray */
    .org DATA - CODE
    .quad 0, 0, 0, BEHIND_HANDLES, 0
of_process:
    .quad HANDLES, -1, LOOP_A, 64, 4, PROCESS_COUNTERS, 16, 0, 0, 0
of_all: /* on processor 1 alone */
    .quad HANDLES + 8, 0, LOOP_A, 64, 4, GLOBAL_COUNTERS, 16, 0, 1, DATA + 0x200
of_kernel: /* of all processes; kernel addresses need no privilege */
    .quad HANDLES + 16, 0, 0xFFFF800000001000, 64, 4, KERNEL_COUNTERS, 16, 0, 0, 0
of_79_bytes: /* two buckets of 64 bytes, and one counter */
    .quad HANDLES + 32, -1, LOOP_A - 64, 79, 6, CRASH_COUNTERS, 4, 0, 0, 0
of_end: /* the loop is the first byte behind the region */
    .quad HANDLES + 32, -1, LOOP_A - 4, 4, 2, CRASH_COUNTERS, 4, 0, 0, 0
    .org DATA - CODE + 0x200 /* GROUP_AFFINITY */
    .quad 2, 0

    .org KERNEL_IMAGE - CODE + IDLE
    loop_of idle
    jmp idle_end
    .org KERNEL_IMAGE - CODE + IDLE_END
idle_end:
    .org KERNEL_IMAGE - CODE + 0x1000
