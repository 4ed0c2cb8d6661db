/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/bell.h - wakes a session that sleeps when a process begins, runs a program, maps code or ends.
 *
 * The rings of the stream wake whoever waits when they are half full. So each processor has one event more, which
 * is told the same, into a page that nobody reads, and wakes with each record. A bell that has rung is silenced for
 * as long as the session looks by itself: where thousands of processes begin, they wake nobody.
 *
 * Invariants:
 *   - a bell that is not silent has not rung yet, or is about to be silenced;
 *   - bells are whole while each processor that was online at the last renewal has one.
 */
#ifndef HAL_BPF_BELL_H
#define HAL_BPF_BELL_H

#include <stdbool.h>
#include <stdint.h>

struct perf_event_mmap_page;

struct bpf_bell {
    int fd; /* -1: there is none */
    bool silent;
    uint64_t enabled_ns; /* for how long, when it was last looked at */
    struct perf_event_mmap_page *page;
};

struct bpf_bells {
    struct bpf_bell *items; /* by processor; NULL: there are none, and never will be */
    uint32_t count;
    int epoll_fd; /* readable: one has rung */
    int hand_fd;  /* rung by hand */
    bool whole;
};

/* bpf_bells_init - none yet. With no memory there never are any. */
void bpf_bells_init(struct bpf_bells *bells, uint32_t processors);

/* bpf_bells_finish - also of what is all zero. */
void bpf_bells_finish(struct bpf_bells *bells);

/* bpf_bells_renew - have one for each processor that is online, in place of those that ended with theirs. Those that
 * are new are silent. */
void bpf_bells_renew(struct bpf_bells *bells);

/* bpf_bells_silence - those that have rung. */
void bpf_bells_silence(struct bpf_bells *bells);

/* bpf_bells_set - have all ring with the next record. False if they are not whole. */
bool bpf_bells_set(struct bpf_bells *bells);

/* bpf_bells_ring - by hand: what the session waits for has changed. */
void bpf_bells_ring(const struct bpf_bells *bells);

/* bpf_bells_bytes - memory of their rings. */
uint64_t bpf_bells_bytes(const struct bpf_bells *bells);

#endif
