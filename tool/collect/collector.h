/* SPDX-License-Identifier: MIT */
/*
 * collector.h - turns the notifications of a session into profile objects, and at the end their
 * counters into a profile.
 *
 * One profile object for each executable mapping of each watched process and source. It is made
 * within the notification of the mapping, so no hit that came after is missed.
 */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include "collect/image.h"
#include "profile/profile.h"

struct collector_options {
    ntprof_session *session;
    const KPROFILE_SOURCE *sources;
    size_t source_count;
    uint32_t bucket_bytes;          /* a power of two from 4 on */
    const GROUP_AFFINITY *affinity; /* NULL: all processors */
    uint16_t affinity_count;
    bool kernel; /* count in the kernel too */
};

struct collector;

/* NULL: out of memory. The session must outlive the collector. */
struct collector *collector_new(const struct collector_options *options);

/* Forgets the notifications of the session first. NULL is allowed. */
void collector_delete(struct collector *collector);

/* What the session calls; context is the collector. */
void collector_notify(void *context, const ntprof_notification *notification);

/*
 * Stops all profiles and makes the profile: sources with their books, rows with names.
 * NULL: out of memory. Once.
 */
struct profile *collector_finish(struct collector *collector);

/* Mappings for which no profile object could be made (hits there are outside), and with which
 * status the first failed. */
uint64_t collector_failures(const struct collector *collector, NTSTATUS *first);

/* Programs that began and of which nothing was seen after: set-uid ones, without rights. */
uint64_t collector_unfollowed(const struct collector *collector);

/* Records that found no room, of hits or of what happened to processes. */
uint64_t collector_records_lost(const struct collector *collector);

/* Processes that had not ended when collector_finish was called. */
uint64_t collector_running(const struct collector *collector);

/* Names of processes that are told apart; the hits of any more are those of "[other]". */
enum { COLLECTOR_PROGRAMS_MAX = 256 };

#endif
