/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/guest.h - for another back end: who lives and what is mapped, as hal/perf tells it, in one order
 * of time with hits that the other back end brings in rings of its own.
 *
 * Invariants, once there is a guest:
 *   - no source of perf's own is sampled, and all processors' side band serves all watches;
 *   - times are of CLOCK_MONOTONIC, which BPF programs have;
 *   - the guest's rings have the kernel's form, and their records are whole samples with registers.
 */
#ifndef HAL_PERF_GUEST_H
#define HAL_PERF_GUEST_H

#include "hal/perf/perf.h"

/* Called within a delivery, in order. */
struct perf_guest {
    void *context;
    void (*hit)(void *context, const KE_HIT *hit); /* instead of ke */
    void (*exited)(void *context, uint32_t pid);   /* a thread of it, watched or not */
};

/* perf_invite - have a guest, before all else. It must outlive perf. */
void perf_invite(struct perf *perf, const struct perf_guest *guest);

/*
 * perf_bring_rings - take in the guest's rings, one for each processor from 0 on.
 *
 *   memory  in: of each a page as struct perf_event_mmap_page and then its data; outlives perf
 *   bytes   in: of each: a page and a power of two
 *
 * Returns 0 or -ENOMEM.
 */
int perf_bring_rings(struct perf *perf, void *memory, size_t bytes, uint32_t count);

/* perf_bring_event - samples with this id are hits of the source, for both lists of profiles. Returns 0 or
 * -ENOMEM. */
int perf_bring_event(struct perf *perf, uint64_t id, struct perf_source *source);

/* perf_follow - watch one process without events of its own. Returns 0 or negative errno, error kept. */
int perf_follow(struct perf *perf, uint32_t pid, bool descendants, bool on_exec);

/* For a delivery: add the guest's rings to the merge; are they filling? */
void perf_guest_gather(struct perf *perf);
bool perf_guest_is_pressing(const struct perf *perf);

void perf_guest_finish(struct perf *perf);

#endif
