/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/target.h - targets: sets of events that measure one process, or all.
 *
 * A watch counts a process, and perhaps its descendants, or all processes, with some
 * sources on some processors, until the session ends; its events have the side band. A
 * private target has the events of started profiles that no watch counts, of one
 * process or all, without notifications.
 *
 * The states of a target:
 *
 *    perf_target_create      perf_target_link    perf_target_unlink
 *   -------------------> UNLINKED --------> LINKED --------> UNLINKED
 *                            |                                   |
 *                            '------> freed <--------------------'
 *                                          perf_target_delete
 *
 *   UNLINKED  its events are opened or closed; nobody finds it
 *   LINKED    in perf->targets: a watch; the watch of all processes, which is
 *             perf->machine and then the only one; or private, for one pid
 *
 * The states of an event (struct perf_event):
 *
 *    event_open     perf_events_begin    perf_event_close     perf_reap_closed
 *   -----------> OPENING --------> COUNTING ----------> CLOSED ----------> freed
 *                   |                                                        ^
 *                   '------------- perf_events_forget_from ------------------'
 *
 *   OPENING   in a list of its opening; from_ns is 0, and no hit of it counts
 *   COUNTING  in its target's list; hits from from_ns on count
 *   CLOSED    in perf->closed, without descriptor and target, until all its records
 *             have been delivered: hits up to until_ns count. A duplicate
 *             (duplicate.h) may get here at its first hit, or be CLOSED already: then
 *             until_ns goes back.
 *
 * In all three states the event is in perf->events by its id, and its processor has a
 * ring. perf_assert_event_state, perf_assert_target_state and perf_assert_state repeat
 * this.
 */
#ifndef HAL_PERF_TARGET_H
#define HAL_PERF_TARGET_H

#include "hal/perf/perf.h"

struct perf_target {
    /* First: a pointer to a watcher is one to its target. */
    struct perf_watcher watcher;
    struct perf_target *next;
    uint32_t pid; /* 0: all processes */
    int pidfd;    /* if not a watch's: shows that the process exited; -1: none */
    bool watch;   /* counts for a watch; false: privately, for started profiles */
    bool on_exec; /* its process has yet to exec: until then no hit counts */
    struct perf_events events;

    /* Only of watches: what they count. */
    struct perf_source **sources;
    size_t source_count;
    uint64_t *processors; /* set, bit n % 64 of word n / 64 */
    size_t processor_words;
};

#ifndef NDEBUG
/* perf_assert_event_state - is the event in one of its states? To be called within
 * assert(), as the next two: returns true, or stops at what does not hold. */
bool perf_assert_event_state(const struct perf *perf, const struct perf_event *event);

/* perf_assert_target_state - is the target in one of its states, with all its events
 * COUNTING? */
bool perf_assert_target_state(const struct perf *perf,
                              const struct perf_target *target);

/* perf_assert_state - do the list of targets and the watch of all processes agree? */
bool perf_assert_state(const struct perf *perf);
#endif

/* perf_target_create - make a target outside of the list. NULL if memory runs out. */
struct perf_target *perf_target_create(uint32_t pid);

/* perf_target_delete - close its events and free it; it must not be in the list. */
void perf_target_delete(struct perf *perf, struct perf_target *target);

/* perf_target_link, perf_target_unlink - add a target to perf->targets; remove it. */
void perf_target_link(struct perf *perf, struct perf_target *target);
void perf_target_unlink(struct perf *perf, const struct perf_target *target);

/* perf_target_close - close its events of a source (NULL: of any) on a processor. Hits
 * up to until_ns count. */
void perf_target_close(struct perf *perf, struct perf_target *target,
                       const struct perf_source *source, uint32_t processor,
                       uint64_t until_ns);

/* perf_target_has_source - does the watch count this source? */
bool perf_target_has_source(const struct perf_target *target,
                            const struct perf_source *source);

/* perf_target_has_event - does it have an event of this source on this processor
 * (PERF_ALL_PROCESSORS: on any)? */
bool perf_target_has_event(const struct perf_target *target,
                           const struct perf_source *source, uint32_t processor);

/* perf_find_private - return the target that counts for profiles of a process (pid 0:
 * of all processes) and belongs to no watch, or NULL if there is none. */
struct perf_target *perf_find_private(const struct perf *perf, uint32_t pid);

/* perf_is_covered - does a watch count this source for this process on this processor?
 * With pid 0: does the watch of all processes count it there? */
bool perf_is_covered(const struct perf *perf, const struct perf_source *source,
                     uint32_t processor, uint32_t pid);

/*
 * perf_event_close - close an event. It is freed when its records have been delivered.
 *
 *   until_ns  in: later hits do not count
 *   closing   in: is what it counted added to the statistics of its source?
 */
enum perf_closing { PERF_COUNTS_DROPPED, PERF_COUNTS_ADDED };
void perf_event_close(struct perf *perf, struct perf_event *event, uint64_t until_ns,
                      enum perf_closing closing);

/* perf_event_forget - free an event of which no record will be delivered, and that
 * counts no thread of perf->counted_by. */
void perf_event_forget(struct perf *perf, struct perf_event *event);

/* perf_reap_closed - free events that were closed at or before bound_ns, up to which
 * all records have been delivered. */
void perf_reap_closed(struct perf *perf, uint64_t bound_ns);

/* perf_read_counts - add up the counts of open events of a source (NULL: all events) on
 * a processor, or PERF_ALL_PROCESSORS. period: in, as in perf_event_add_counts. */
void perf_read_counts(const struct perf *perf, const struct perf_source *source,
                      uint32_t processor, enum perf_period period,
                      struct perf_counts *counts);

/* perf_freeze - see HAL_BACKEND.Freeze. context: struct perf. */
void perf_freeze(void *context);

#endif
