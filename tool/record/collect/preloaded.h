/* SPDX-License-Identifier: MIT */
/*
 * agents.h - the processes, the code and the hits that preloaded agents report, brought
 * into the collector as those of a session are.
 *
 * All functions are called with the delivery lock.
 */
#ifndef RECORD_COLLECT_PRELOADED_H
#define RECORD_COLLECT_PRELOADED_H

#include "record/collect/preload_memory.h"

#include <ntprof/ntprof.h>
#include <stdbool.h>

struct agents;
struct collector;
struct collector_gaps;

/*
 * Make the agents of a collector. Returns NULL if memory runs out.
 *
 *   memory          open until agents_delete
 *   interval_asked  in 100 ns, for the statistics
 */
struct agents *agents_new(struct collector *collector, struct agent_memory *memory,
                          uint64_t interval_asked);

void agents_delete(struct agents *agents); /* NULL is allowed */

/* Follow what has happened since the last call: new processes, programs that they
 * executed and loaded code. Call it often, as what exited cannot be looked at. */
void agents_look(void *agents);

/* Call agents_look, then add the hits so far to the fresh counts of their images.
 * Returns false if memory runs out; hits that were not added stay in the memory. */
bool agents_fold(struct agents *agents);

/* Do what agents_fold does, but do not call agents_look. */
bool agents_take(struct agents *agents);

/* Set the statistics of source time, as of the last fold. */
void agents_statistics(const struct agents *agents, ntprof_source_info *info);

/* Set what is missing or not believed, and how many processes have not exited. */
void agents_describe(const struct agents *agents, struct collector_gaps *gaps);

#endif
