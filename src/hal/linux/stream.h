/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/stream.h - the records of all rings, merged in order of time: samples go to
 * the back end, other records to the back end and the process table.
 *
 * A delivery adds all rings that have records to a binary heap by the time of their
 * first record. Records of one ring that follow each other cost one heap step together.
 *
 * Invariant: after a delivery all records up to its bound have been delivered, except
 * late ones. All calls are serialised. A callback may call back into the back
 * end, which sets delivering around all that makes notifications, and does not deliver
 * while it is set.
 */
#ifndef HAL_LINUX_STREAM_H
#define HAL_LINUX_STREAM_H

#include "hal/linux/process_table.h"
#include "hal/linux/ring.h"

/* The writer takes a record's time before the record becomes visible. So records
 * younger than this stay in their ring: another ring may still get an older one. */
enum { PERF_STREAM_SLACK_NS = 5000000 };

struct perf_stream_calls {
    /* A sample, of which only the fixed part is sure to be there. */
    void (*on_sample)(void *context, struct perf_ring *ring,
                      const struct perf_sample *sample);
    /* Any other record that is well-formed. */
    void (*on_record)(void *context, struct perf_ring *ring,
                      const struct perf_record *record);
    /* After a loss: /proc lists a child, not in the table, of a process whose watcher
     * covers descendants. May be NULL. */
    void (*on_child)(void *context, uint32_t pid, struct perf_watcher *watcher);
};

/* A ring, and the time of its first record that has not been delivered. */
struct perf_stream_head {
    uint64_t time_ns;
    struct perf_ring *ring;
};

struct perf_stream {
    const struct perf_stream_calls *calls;
    void *context;
    struct process_table processes;
    struct perf_stream_head *heads; /* heap; room for all rings */
    size_t head_count;
    bool delivering;
    bool resync;              /* records were lost: read the processes in /proc */
    uint64_t last_ns;         /* time of the newest record delivered */
    uint64_t reread_after_ns; /* earliest time to read mappings for a hit again */
    uint64_t late;            /* records delivered after one that is newer */
};

/* perf_stream_now_ns - return the time by the clock of the records. */
uint64_t perf_stream_now_ns(const struct perf_stream *stream);

/* perf_stream_reserve - make room in the heap for that many rings. Returns 0 or
 * -ENOMEM. perf_stream_finish frees heap and process table, not the rings. */
int perf_stream_reserve(struct perf_stream *stream, size_t ring_count);
void perf_stream_finish(struct perf_stream *stream);

/* perf_stream_add - have the next delivery read a ring, up to the head that it has now.
 * There must be room. */
void perf_stream_add(struct perf_stream *stream, struct perf_ring *ring);

/* perf_stream_deliver - deliver the records of the added rings up to and including
 * bound_ns, and publish their tails. For the next delivery rings are added anew. */
void perf_stream_deliver(struct perf_stream *stream, uint64_t bound_ns);

/* perf_stream_note_lost - report the losses of a ring that have not been reported, and
 * set resync. lost: in, the records that it has lost in all. */
void perf_stream_note_lost(struct perf_stream *stream, struct perf_ring *ring,
                           uint64_t lost, uint64_t time_ns);

/* perf_stream_resync - read all processes of the table in /proc, and clear resync. */
void perf_stream_resync(struct perf_stream *stream);

/* perf_stream_read_unreported - read the mappings of a watched process again if the
 * hit's address is in none of those in the table, as after mremap. Bounded in time. */
void perf_stream_read_unreported(struct perf_stream *stream,
                                 const struct perf_sample *sample);

#endif
