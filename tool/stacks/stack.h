/* SPDX-License-Identifier: MIT */
/* stack.h - what a stack is: frames of callers, and why there are no more of them. */
#ifndef STACKS_STACK_H
#define STACKS_STACK_H

#include <stdint.h>

/* Deeper stacks end with STACK_DEEP. */
enum { STACK_FRAMES_MAX = 512 };

/* Where there is no image. */
#define STACK_NO_IMAGE UINT32_MAX

/* stack_frame - a caller. */
struct stack_frame {
    /* The image's, of a byte of the call: the one before that which it returns to; of
     * what a signal interrupted, its instruction. */
    uint64_t address;
    uint32_t image; /* number of the caller's */
};

enum stack_end {
    STACK_WHOLE,            /* the last caller has none */
    STACK_BY_FRAME_POINTER, /* the same; some callers were found by rbp */
    STACK_CUT,              /* at the end of the copy */
    STACK_NOT_READABLE,     /* the copy is shorter than asked, or not of this memory */
    STACK_NO_RULES,         /* of an image: its tables do not cover the code; or code
                             * that is in no mapping */
    STACK_UNSUPPORTED,      /* of an image: they do, by rules that are not followed */
    STACK_DEEP,             /* there are more than STACK_FRAMES_MAX callers */
    STACK_NOT_RECORDED,     /* callers were not looked for */
    STACK_OTHER,            /* callers were given up for room */
    STACK_ENDS
};

#endif
