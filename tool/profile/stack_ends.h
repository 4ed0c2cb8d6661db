/* SPDX-License-Identifier: MIT */
/*
 * stack_ends.h - how the stacks of a profile end, and so how much of their callers is
 * known.
 */
#ifndef PROFILE_STACK_ENDS_H
#define PROFILE_STACK_ENDS_H

#include "base/buffer.h"
#include "profile/profile.h"

/* Return the name of the end of a stack, which must not be 0. */
const char *profile_end_of(const struct profile *profile, uint32_t stack);

/* Return whether ends of this name are shown as a function. */
bool profile_end_is_shown(const char *end);

struct stack_end_hits {
    const char *name; /* PROFILE_STACK_NONE: rows without a stack */
    uint64_t hits;
};

/* Of rows without a stack. */
#define PROFILE_STACK_NONE "[no stack]"

/* stack_ends - all ends of a source with hits: those of whole stacks first, then those
 * with most hits. */
struct stack_ends {
    struct stack_end_hits *list;
    size_t count;
    uint64_t hits;    /* of all */
    uint64_t unknown; /* of ends that are shown: of these not all callers are known */
};

/* Find the ends of a profile with stacks. Returns false if memory runs out; finish must
 * be called in any case. */
bool stack_ends_find(const struct profile *profile, size_t source,
                     struct stack_ends *ends);

void stack_ends_finish(struct stack_ends *ends);

/* Append a share with one decimal, and a blank. all: not 0. */
void stack_ends_put_share(struct buffer *line, uint64_t hits, uint64_t all);

/* Append how much of the bound of contexts is used, as
 * " (7,420 of 262,144 contexts)". */
void stack_ends_put_contexts(struct buffer *line, uint64_t contexts,
                             uint64_t contexts_max);

/* Append how many stacks of a source have which end, as "97.6% whole, 2.4% cut at
 * 16 kB", and its contexts if they are known. */
void stack_ends_put(const struct stack_ends *ends, const struct profile_source *source,
                    struct buffer *line);

#endif
