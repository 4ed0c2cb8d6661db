/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/watch.h - watches: who lives and what is mapped, by hal/perf's machinery (hal/perf/guest.h), with
 * the hits that the program could not count at once.
 *
 * While there is a watch, the program counts a hit at once only if its process is in step: known to the
 * session, and what it last mapped or ran has been told. Any other hit is noted in its processor's
 * ring and comes in its turn, after what happened before it: so it counts in profiles that were
 * started because of that, as in hal/perf. So does a hit of a watched process that matches nothing: of
 * what is mapped at an address that was chosen, or made code, no tracepoint tells. Where that
 * replaces something with profiles, these count until it is told: STREAM_MS or QUIET_MS, more or less. When nothing
 * happens the session sleeps for longer; the kernel's records wake it (bell.h), noted hits do not.
 *
 * Invariants:
 *   - a process is known from its first noted hit on that comes while it lives, until it ends; one that nobody
 *     watches, too, so that its hits need not be noted any more;
 *   - a hit that was noted is in no books before it comes: it is counted or outside then.
 */
#ifndef HAL_BPF_WATCH_H
#define HAL_BPF_WATCH_H

#include "hal/bpf/bpf.h"

/*
 * bpf_watch - see HAL_BACKEND.Watch. pid 0: all processes, without flags.
 *
 *   sources     in: probed
 *   processors  in: set, bit n % 64 of word n / 64
 *
 * Returns 0 or negative errno, error kept.
 */
int bpf_watch(struct bpf *bpf, uint32_t pid, uint32_t flags,
              struct perf_source *const *sources, size_t source_count,
              const uint64_t *processors, size_t processor_words);

/* bpf_is_watched - is it a live process that the stream tells of? */
bool bpf_is_watched(const struct bpf *bpf, uint32_t pid);

/* bpf_stream_flush - everything that happened before the call; nothing from within a delivery. */
void bpf_stream_flush(struct bpf *bpf);

/* bpf_stream_deliver - what is due. Returns ms until the next call, -1 for none. */
int bpf_stream_deliver(struct bpf *bpf);

void bpf_stream_close(struct bpf *bpf);

#endif
