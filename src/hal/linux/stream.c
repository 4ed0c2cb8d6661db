/* SPDX-License-Identifier: MIT */
/* hal/linux/stream.c - merges rings, and reads /proc where records are missing. */
#include "hal/linux/stream.h"

#include "hal/linux/procfs.h"

#include <errno.h>
#include <stdlib.h>

/* Mappings of one process are read again for its hits once in REREAD_NS at most, and
 * all such readings together take at most 1/REREAD_SHARE of the time. */
enum { REREAD_NS = 100000000, REREAD_SHARE = 20 };

/* A sample longer than this has a stack: a few of them fill a ring, so the kernel may
 * overwrite it as soon as it is delivered. */
enum { SHORT_SAMPLE_BYTES = 512 };

#define NO_RECORD_NS UINT64_MAX

uint64_t
perf_stream_now_ns(const struct perf_stream *stream)
{
    return perf_clock_now_ns(&stream->processes.clock);
}

int
perf_stream_reserve(struct perf_stream *stream, size_t ring_count)
{
    struct perf_stream_head *heads =
        realloc(stream->heads, ring_count * sizeof(*stream->heads));

    if (heads == NULL) {
        return -ENOMEM;
    }
    stream->heads = heads;
    return 0;
}

void
perf_stream_finish(struct perf_stream *stream)
{
    process_table_finish(&stream->processes);
    free(stream->heads);
}

/* Return which head is the oldest: the one at index, or one of its two children. */
static size_t
oldest_of(const struct perf_stream *stream, size_t index)
{
    size_t oldest = index;

    for (size_t i = 2 * index + 1; i <= 2 * index + 2 && i < stream->head_count; i++) {
        if (stream->heads[i].time_ns < stream->heads[oldest].time_ns) {
            oldest = i;
        }
    }
    return oldest;
}

/* Exchange two heads of the heap. */
static void
swap(struct perf_stream *stream, size_t one, size_t other)
{
    const struct perf_stream_head head = stream->heads[one];

    stream->heads[one] = stream->heads[other];
    stream->heads[other] = head;
}

/* Restore the heap after the time of its first head has changed; with NO_RECORD_NS
 * remove that head. */
static void
restore_heap(struct perf_stream *stream)
{
    size_t oldest;

    if (stream->heads[0].time_ns == NO_RECORD_NS) {
        stream->heads[0] = stream->heads[--stream->head_count];
    }
    for (size_t i = 0; (oldest = oldest_of(stream, i)) != i; i = oldest) {
        swap(stream, i, oldest);
    }
}

void
perf_stream_add(struct perf_stream *stream, struct perf_ring *ring)
{
    const struct perf_event_header *header = perf_ring_peek(ring);
    size_t parent;

    if (header == NULL) {
        return;
    }
    stream->heads[stream->head_count++] = (struct perf_stream_head){
        .time_ns = perf_record_time(header, header->size), .ring = ring};
    for (size_t i = stream->head_count - 1; i > 0; i = parent) {
        parent = (i - 1) / 2;
        if (oldest_of(stream, parent) != i) {
            return;
        }
        swap(stream, i, parent);
    }
}

/* Pass a record to the back end; a malformed one is skipped. */
static void
deliver_record(struct perf_stream *stream, struct perf_ring *ring,
               const struct perf_event_header *header)
{
    struct perf_record record;

    if (header->type != PERF_RECORD_SAMPLE) {
        if (perf_record_parse(header, header->size, &record) == 0) {
            stream->calls->on_record(stream->context, ring, &record);
        }
    } else if (header->size >= sizeof(struct perf_sample)) {
        stream->calls->on_sample(stream->context, ring, (const void *)header);
    }
}

/* Deliver the records of a ring up to and including until_ns. Returns the time of the
 * next one, or NO_RECORD_NS. */
static uint64_t
deliver_run(struct perf_stream *stream, struct perf_ring *ring, uint64_t until_ns)
{
    const struct perf_event_header *header;

    while ((header = perf_ring_peek(ring)) != NULL) {
        const uint64_t time_ns = perf_record_time(header, header->size);
        const bool is_long =
            header->type == PERF_RECORD_SAMPLE && header->size > SHORT_SAMPLE_BYTES;

        if (time_ns > until_ns) {
            return time_ns;
        }
        if (time_ns >= stream->last_ns) {
            stream->last_ns = time_ns;
        } else if (time_ns != 0) {
            stream->late++;
        }
        deliver_record(stream, ring, header);
        perf_ring_skip(ring, header);
        if (is_long) {
            perf_ring_publish(ring);
        }
    }
    return NO_RECORD_NS;
}

void
perf_stream_deliver(struct perf_stream *stream, uint64_t bound_ns)
{
    assert(stream->delivering);
    while (stream->head_count > 0 && stream->heads[0].time_ns <= bound_ns) {
        struct perf_ring *const ring = stream->heads[0].ring;
        uint64_t until_ns = bound_ns;

        /* The second-oldest head is one of the first two children. */
        for (size_t i = 1; i <= 2 && i < stream->head_count; i++) {
            if (stream->heads[i].time_ns < until_ns) {
                until_ns = stream->heads[i].time_ns;
            }
        }
        stream->heads[0].time_ns = deliver_run(stream, ring, until_ns);
        perf_ring_publish(ring);
        restore_heap(stream);
    }
    stream->head_count = 0;
}

void
perf_stream_note_lost(struct perf_stream *stream, struct perf_ring *ring, uint64_t lost,
                      uint64_t time_ns)
{
    ntprof_notification notification = {.kind = NTPROF_RECORDS_LOST,
                                        .time_ns = time_ns,
                                        .count = lost - ring->lost_reported};

    if (lost > ring->lost_reported) {
        ring->lost_reported = lost;
        stream->resync = true;
        process_table_notify(&stream->processes, &notification);
    }
}

void
perf_stream_read_unreported(struct perf_stream *stream,
                            const struct perf_sample *sample)
{
    struct perf_process *const process =
        process_table_find(&stream->processes, sample->pid);
    struct perf_mappings mappings = {0};
    uint64_t now_ns;

    /* Kernel addresses have the highest bit, and no mapping. */
    if (process == NULL || (int64_t)sample->ip < 0 ||
        perf_mappings_find(&process->mappings, sample->ip) != NULL) {
        return;
    }
    now_ns = perf_stream_now_ns(stream);
    if (now_ns < stream->reread_after_ns || now_ns - process->reread_ns < REREAD_NS) {
        return;
    }
    process->reread_ns = now_ns;
    if (perf_procfs_mappings(process->pid, process->pid, &mappings) == 0) {
        process_table_add_unreported(&stream->processes, process, &mappings, sample->ip,
                                     sample->time_ns);
    }
    perf_mappings_finish(&mappings);
    /* From now_ns on: the reading itself, and then REREAD_SHARE times as long. */
    stream->reread_after_ns =
        now_ns + (perf_stream_now_ns(stream) - now_ns) * (REREAD_SHARE + 1);
}

/* Report the children of a process, whose FORK records may have been lost, if a watcher
 * follows them. They are added to pids. */
static void
report_children(struct perf_stream *stream, const struct perf_process *parent,
                struct perf_tids *pids)
{
    const size_t before = pids->count;
    struct perf_watcher *watcher = NULL;

    for (size_t i = 0; i < parent->watcher_count && watcher == NULL; i++) {
        watcher = parent->watchers[i]->descendants ? parent->watchers[i] : NULL;
    }
    if (watcher == NULL || stream->calls->on_child == NULL ||
        perf_procfs_children(parent->pid, pids) < 0) {
        return;
    }
    for (size_t i = before; i < pids->count; i++) {
        if (process_table_find(&stream->processes, pids->items[i]) == NULL) {
            stream->calls->on_child(stream->context, pids->items[i], watcher);
        }
    }
}

/* Replace a process in the table by what /proc shows of it, or report its exit. Its
 * children are added to pids. */
static void
resync_process(struct perf_stream *stream, uint32_t pid, struct perf_tids *pids)
{
    struct process_table *const table = &stream->processes;
    struct perf_process *process = process_table_find(table, pid);
    struct perf_reading reading;
    struct perf_found found = {.name = reading.name, .mappings = &reading.mappings};
    int result;

    if (process == NULL) {
        return;
    }
    result = perf_procfs_read(pid, &reading);
    found.tids = reading.tids.items;
    found.tid_count = reading.tids.count;
    if (result == -ESRCH || result == -ECHILD) {
        process_table_end(table, process, stream->last_ns);
    } else if (result == 0) {
        process_table_resync(table, process, &found, stream->last_ns);
        report_children(stream, process, pids);
    } else if (result == -EAGAIN || perf_is_shortage(result)) {
        stream->resync = true;
    }
    perf_reading_finish(&reading);
}

void
perf_stream_resync(struct perf_stream *stream)
{
    struct process_table *const table = &stream->processes;
    struct perf_tids pids = {0};

    stream->resync = false;
    table->dropped = 0;
    for (size_t i = 0; i < table->by_pid.capacity; i++) {
        const struct perf_process *process = table->by_pid.entries[i].value;

        stream->resync |=
            process != NULL && perf_tids_add(&pids, process->pid) == -ENOMEM;
    }
    for (size_t i = 0; i < pids.count; i++) {
        resync_process(stream, pids.items[i], &pids);
    }
    perf_tids_finish(&pids);
}
