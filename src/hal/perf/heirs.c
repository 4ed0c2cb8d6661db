/* SPDX-License-Identifier: MIT */
/* hal/perf/heirs.c - opens marks and reads what they tell. */
#include "hal/perf/heirs.h"
#include "hal/linux/record.h"
#include "hal/perf/opening.h"

#include <errno.h>
#include <stdlib.h>

/* Large rings hold what busy threads' marks tell while we do not get to read; where they are not allowed, smaller ones
 * have to do. */
enum { RING_PAGES_MAX = 128, RING_PAGES_MIN = 4, MARKS_MAX = 32768 };

/* What is known of a thread. */
enum {
    HAS_SOME = 1, /* a mark before another thread's events */
    HAS_ALL = 2,  /* a mark behind them */
    ENDED = 4     /* its number may be another's now */
};

/* Values of perf_heirs.seen: one for each set of the above. */
static char knowledge[8];

static size_t
known_of(const struct perf_heirs *heirs, uint32_t tid)
{
    const char *const known = perf_idmap_find(&heirs->seen, tid);

    return known != NULL ? (size_t)(known - knowledge) : 0;
}

/* Returns 0 or negative errno. */
static int
ring_of(const struct perf *perf, struct perf_heirs *heirs, uint32_t processor,
        const struct perf_ring **ring)
{
    int result = 0;

    if (heirs->rings == NULL) {
        heirs->rings = calloc(perf->processor_limit, sizeof(struct perf_ring *));
    }
    if (heirs->rings == NULL) {
        return -ENOMEM;
    }
    for (size_t pages = RING_PAGES_MAX;
         heirs->rings[processor] == NULL && pages >= RING_PAGES_MIN; pages /= 2) {
        result = perf_create_ring(perf, processor, pages, &heirs->rings[processor]);
    }
    *ring = heirs->rings[processor];
    return result;
}

/* Returns 0 or negative errno. */
static int
mark_on(struct perf *perf, struct perf_heirs *heirs, struct perf_target *target,
        uint32_t tid, uint32_t processor)
{
    const struct perf_ring *ring;
    int result;

    if (heirs->marks.count >= MARKS_MAX) {
        return -ENOSPC;
    }
    result = ring_of(perf, heirs, processor, &ring);
    return result == 0 ? perf_open_mark(perf, target, ring, tid, &heirs->marks)
                       : result;
}

void
perf_heirs_mark(struct perf *perf, struct perf_heirs *heirs, struct perf_target *target,
                uint32_t tid, bool behind)
{
    for (uint32_t i = 0; !heirs->given_up && i < perf->processor_limit; i++) {
        int result;

        if (perf->rings[i] == NULL) {
            continue;
        }
        result = mark_on(perf, heirs, target, tid, i);
        if (result == 0) {
            heirs->marks.items[heirs->marks.count - 1]->behind = behind;
        } else if (result != -ESRCH) {
            /* Some marks alone would be sure of nothing, and what follows needs their descriptors more: first of
             * all to read /proc. */
            (void)perf_heirs_give_up(perf, heirs);
        }
    }
}

/* What is said of a number stays once its thread has ended, whoever has the number next; but each mark tells of the
 * end. */
static void
note_record(const struct perf *perf, struct perf_heirs *heirs,
            const struct perf_record *record)
{
    const struct perf_event *const mark = perf_idmap_find(&perf->events, record->id);
    size_t known = known_of(heirs, record->tid);

    if (mark == NULL || (record->type == PERF_RECORD_SWITCH && (known & ENDED) != 0)) {
        return;
    }
    if (mark->tid != record->tid) {
        known |= mark->behind ? HAS_ALL | HAS_SOME : HAS_SOME;
    }
    if (record->type == PERF_RECORD_EXIT) {
        known |= ENDED;
    }
    if (known != 0 &&
        perf_idmap_put(&heirs->seen, record->tid, &knowledge[known]) < 0) {
        heirs->given_up = true;
    }
}

static void
read_ring(const struct perf *perf, struct perf_heirs *heirs, struct perf_ring *ring)
{
    const struct perf_event_header *header;

    if (perf_ring_is_filling(ring)) {
        heirs->given_up = true;
    }
    while ((header = perf_ring_peek(ring)) != NULL) {
        struct perf_record record;

        if (perf_record_parse(header, header->size, &record) == 0) {
            switch (record.type) {
            case PERF_RECORD_SWITCH:
            case PERF_RECORD_EXIT:
                note_record(perf, heirs, &record);
                break;
            case PERF_RECORD_LOST:
                heirs->given_up = true; /* an end may be among them */
                break;
            default:
                break;
            }
        }
        perf_ring_skip(ring, header);
    }
    perf_ring_publish(ring);
}

void
perf_heirs_read(const struct perf *perf, struct perf_heirs *heirs)
{
    for (uint32_t i = 0; heirs->rings != NULL && i < perf->processor_limit; i++) {
        if (heirs->rings[i] != NULL) {
            read_ring(perf, heirs, heirs->rings[i]);
        }
    }
}

bool
perf_heirs_hold(const struct perf_heirs *heirs, uint32_t tid)
{
    return !heirs->given_up && (known_of(heirs, tid) & (HAS_ALL | ENDED)) == HAS_ALL;
}

bool
perf_heirs_held(const struct perf_heirs *heirs, uint32_t tid)
{
    return !heirs->given_up && (known_of(heirs, tid) & HAS_ALL) != 0;
}

bool
perf_heirs_know(const struct perf_heirs *heirs, uint32_t tid)
{
    return known_of(heirs, tid) != 0;
}

bool
perf_heirs_know_some(const struct perf_heirs *heirs, uint32_t tid)
{
    return (known_of(heirs, tid) & HAS_SOME) != 0;
}

bool
perf_heirs_give_up(struct perf *perf, struct perf_heirs *heirs)
{
    const bool were = heirs->marks.count > 0;

    perf_heirs_finish(perf, heirs);
    heirs->given_up = true;
    return were;
}

void
perf_heirs_finish(struct perf *perf, struct perf_heirs *heirs)
{
    perf_events_forget_from(perf, &heirs->marks, 0);
    perf_events_finish(&heirs->marks);
    for (uint32_t i = 0; heirs->rings != NULL && i < perf->processor_limit; i++) {
        perf_delete_ring(heirs->rings[i]);
    }
    free(heirs->rings);
    perf_idmap_finish(&heirs->seen);
    *heirs = (struct perf_heirs){0};
}
