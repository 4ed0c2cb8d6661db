/* SPDX-License-Identifier: MIT */
/*
 * preloaded.h - the processes, the code and the hits that preload objects report,
 * brought into the collector as those of a session are.
 *
 * All functions are called with the delivery lock.
 */
#ifndef RECORD_COLLECT_PRELOADED_H
#define RECORD_COLLECT_PRELOADED_H

#include "record/collect/preload_memory.h"

#include <ntprof/ntprof.h>
#include <stdbool.h>

struct preloaded;
struct collector;
struct collector_gaps;

/*
 * Make the preload objects of a collector. Returns NULL if memory runs out.
 *
 *   memory          open until preloaded_delete
 *   interval_asked  in 100 ns, for the statistics
 */
struct preloaded *preloaded_new(struct collector *collector,
                                struct preload_memory *memory, uint64_t interval_asked);

void preloaded_delete(struct preloaded *preloaded); /* NULL is allowed */

/* Follow what has happened since the last call: new processes, programs that they
 * executed and loaded code. Call it often, as what exited cannot be looked at. */
void preloaded_look(void *preloaded);

/* Call preloaded_look, then add the hits so far to the fresh counts of their images.
 * Returns false if memory runs out; hits that were not added stay in the memory. */
bool preloaded_fold(struct preloaded *preloaded);

/* Do what preloaded_fold does, but do not call preloaded_look. */
bool preloaded_take(struct preloaded *preloaded);

/* Set the statistics of source time, as of the last fold. */
void preloaded_statistics(const struct preloaded *preloaded, ntprof_source_info *info);

/* Set what is missing or not believed, and how many processes have not exited. */
void preloaded_describe(const struct preloaded *preloaded, struct collector_gaps *gaps);

#endif
