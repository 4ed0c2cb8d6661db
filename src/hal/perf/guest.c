/* SPDX-License-Identifier: MIT */
/* hal/perf/guest.c - another back end's rings among those of the kernel. */
#include "hal/perf/guest.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { SCRATCH_BYTES = 65536 };

void
perf_invite(struct perf *perf, const struct perf_guest *guest)
{
    perf->guest = guest;
    perf->features.monotonic = true;
}

int
perf_bring_rings(struct perf *perf, void *memory, size_t bytes, uint32_t count)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct perf_merge_entry *const entries =
        realloc(perf->merge.entries,
                ((size_t)perf->processor_limit + count) * sizeof(*perf->merge.entries));
    struct perf_ring *rings;
    uint8_t *scratch;

    if (entries == NULL) {
        return -ENOMEM;
    }
    perf->merge.entries = entries;
    rings = calloc(count, sizeof(*rings));
    scratch = aligned_alloc(8, SCRATCH_BYTES); /* no two are looked at at once */
    if (rings == NULL || scratch == NULL) {
        free(scratch);
        free(rings);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        char *const page = (char *)memory + i * bytes;

        perf_ring_over(&rings[i], page + page_bytes, bytes - page_bytes, scratch);
        rings[i].page = (void *)page;
        rings[i].processor = i;
    }
    perf->guest_rings = rings;
    perf->guest_ring_count = count;
    return 0;
}

int
perf_bring_event(struct perf *perf, uint64_t id, struct perf_source *source)
{
    struct perf_event *const event = calloc(1, sizeof(*event));

    if (event == NULL || perf_idmap_put(&perf->events, id, event) < 0) {
        free(event);
        return -ENOMEM;
    }
    event->fd = -1;
    event->id = id;
    event->scope = KE_SCOPE_BOTH;
    event->source = source;
    event->until_ns = UINT64_MAX;
    event->next_closed = perf->guest_events;
    perf->guest_events = event;
    return 0;
}

void
perf_guest_gather(struct perf *perf)
{
    for (uint32_t i = 0; i < perf->guest_ring_count; i++) {
        (void)perf_ring_update(&perf->guest_rings[i]);
        perf_merge_add(&perf->merge, &perf->guest_rings[i]);
    }
}

bool
perf_guest_is_pressing(const struct perf *perf)
{
    for (uint32_t i = 0; i < perf->guest_ring_count; i++) {
        if (perf_ring_is_filling(&perf->guest_rings[i])) {
            return true;
        }
    }
    return false;
}

void
perf_guest_finish(struct perf *perf)
{
    while (perf->guest_events != NULL) {
        struct perf_event *const event = perf->guest_events;

        perf->guest_events = event->next_closed;
        perf_idmap_remove(&perf->events, event->id);
        free(event);
    }
    if (perf->guest_ring_count > 0) {
        free(perf->guest_rings[0].scratch);
    }
    free(perf->guest_rings);
    perf->guest_rings = NULL;
    perf->guest_ring_count = 0;
}
