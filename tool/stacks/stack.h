/* SPDX-License-Identifier: MIT */
/* stack.h - what a stack is: frames of callers, and why there are no more of them. */
#ifndef STACKS_STACK_H
#define STACKS_STACK_H

#include <stdint.h>

/* Deeper stacks end with STACK_DEEP. */
enum { STACK_FRAMES_MAX = 512 };

/* In place of an image's number: there is none. */
#define STACK_NO_IMAGE UINT32_MAX

/* stack_frame - a caller. */
struct stack_frame {
    /* In the addresses of the image: the return address - 1, which is a byte of the
     * call; of code that a signal interrupted, that of the next instruction. */
    uint64_t address;
    uint32_t image; /* number of the image with the caller's code */
};

/* Why a stack has no more frames. An end of an image has its number: its unwind tables
 * are the reason. */

enum stack_end {
    STACK_WHOLE,            /* the last caller has no caller */
    STACK_BY_FRAME_POINTER, /* the same; some callers were found by the frame pointer */
    STACK_CUT,              /* at the end of the copy of the stack */
    STACK_NOT_READABLE,     /* the copy is shorter than asked, or not of this memory */
    STACK_NO_RULES,         /* of an image: its tables do not cover the code; without
                             * an image: the code is in no mapping */
    STACK_UNSUPPORTED,      /* of an image: its rules are not supported */
    STACK_DEEP,             /* there are more than STACK_FRAMES_MAX callers */
    STACK_NOT_RECORDED,     /* callers were not looked for, or only up to an image whose
                             * tables could not be read */
    STACK_KERNEL_CUT,       /* in the kernel: Linux gives no more of its frames */
    STACK_OTHER,            /* callers were given up for room */
    STACK_ENDS
};

#endif
