/* SPDX-License-Identifier: MIT */
/*
 * preload.h - profiles a command by timers in its own processes, where Linux refuses
 * perf events: makes the memory and the environment that lead the command to the
 * preload object.
 */
#ifndef RECORD_PRELOAD_H
#define RECORD_PRELOAD_H

#include "record/collect/preload_memory.h"
#include "record/preload_object.h"

struct record_options;

struct preload {
    bool used; /* all below is set */
    struct preload_memory memory;
    struct preload_object object;
    char **environment; /* of the command, for execvpe */
    char better[1024];  /* why no other way is used, and what would allow it */
};

/*
 * Prepare for a command. Returns false if that is not possible; nothing is open then.
 *
 *   interval_100ns  as asked for; that in effect is memory.interval_ns
 *   why             out: the reason, and what would help
 */
bool preload_open(struct preload *preload, const struct record_options *options,
                  uint64_t interval_100ns, char *why, size_t why_size);

/* Try everything that does not depend on a command. Returns false if something fails;
 * why is as above, and *error the errno, or 0. */
bool preload_probe(char *why, size_t why_size, int *error);

/* Shortest interval that timers have here, in ns: the kernel's tick. */
uint64_t preload_tick_ns(void);

/* Bytes of a stack that are copied where so many were asked for. */
uint32_t preload_stack_bytes(uint32_t asked);

/* Say what limits this way, and what would give a better one. */
void preload_describe(const struct preload *preload, char *text, size_t size);

void preload_close(struct preload *preload); /* all zero is allowed */

#endif
