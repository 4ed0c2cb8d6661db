/* SPDX-License-Identifier: MIT */
/*
 * walk.h - finds the callers of interrupted code: a function of its registers, a copy
 * of its stack, the unwind rules of its images, and its mappings.
 *
 * Rules and stacks may be forged. Whatever they are, a frame is an address in a mapping
 * with code, there are at most STACK_FRAMES_MAX, and nothing but the copy is read.
 */
#ifndef STACKS_WALK_H
#define STACKS_WALK_H

#include "stacks/rules.h"
#include "stacks/stack.h"

#include <stdbool.h>

/* stack_mapping - addresses with code. */
struct stack_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t address; /* the image's, of start; of code without a file start itself */
    uint32_t image;   /* number; not STACK_NO_IMAGE */
    bool anonymous;   /* code without a file, as of a JIT: it has no rules */
};

/* stack_sample - what was copied of code that was interrupted. */
struct stack_sample {
    uint64_t registers[SYM_REGISTERS]; /* by DWARF's numbers */
    uint64_t address;                  /* of the next instruction */
    const uint8_t *copy;               /* of memory from the stack pointer upwards */
    size_t copied_bytes;
    size_t asked_bytes; /* at least copied_bytes; fewer were copied if no more could be
                         * read */
    const struct stack_mapping *mappings; /* in order, not overlapping */
    size_t mapping_count;
};

/* stack_walked - the callers of a sample. */
struct stack_walked {
    struct stack_frame frames[STACK_FRAMES_MAX]; /* innermost first */
    size_t count;
    enum stack_end end;
    uint32_t image;   /* of an end with an image, else STACK_NO_IMAGE */
    uint64_t address; /* with image, if a rule is missing: what that is for */
};

/* Walk a stack. Returns false if the cache has no rule for the address of an image,
 * which are in walked then; when a rule was added, the walk has to begin anew. */
bool stack_walk(const struct stack_sample *sample, struct stack_rules *rules,
                struct stack_walked *walked);

/* Whether the code of this machine is walked. */
bool stack_walk_possible(void);

/* Return the mapping of an address, or NULL if there is none. */
const struct stack_mapping *stack_mapping_find(const struct stack_mapping *mappings,
                                               size_t count, uint64_t address);

#endif
