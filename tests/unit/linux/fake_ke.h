/* SPDX-License-Identifier: MIT */
/* fake_ke.h - stands in for ke: keeps the hits, in order with the notifications. */
#ifndef TESTS_UNIT_PERF_FAKE_KE_H
#define TESTS_UNIT_PERF_FAKE_KE_H

#include "hal/backend.h"

#include <ntprof/hal.h>
#include <ntprof/notification.h>

/* One thing that happened. */
struct seen {
    uint32_t kind; /* NTPROF_..., 0: a hit */
    uint32_t pid;
    KE_HIT hit;
    uint64_t time_ns;
    uint64_t base;
    uint64_t length;
    uint32_t parent_pid;
    uint32_t flags;
    uint64_t count;
    char name[128];
};

struct _KE_SYSTEM {
    struct seen *seen;
    size_t count;
    size_t capacity;
    /* Called after each notification was kept; may be NULL. */
    void (*react)(struct _KE_SYSTEM *ke, const struct seen *seen);
    void *react_context;
};

/* As many processors as are online, numbered from 0; 64 at most. */
extern const HAL_PROCESSORS fake_processors;

/* fake_pause - HAL_OPEN.Pause: sleeps. */
void fake_pause(void *context, ULONG64 wait_ns);

/* fake_notify - the notify callback; context is the struct _KE_SYSTEM. */
void fake_notify(void *context, const ntprof_notification *notification);

/* fake_hits - hits of a source seen; in a process unless pid is 0. */
size_t fake_hits(const struct _KE_SYSTEM *ke, KPROFILE_SOURCE source, uint32_t pid);

/* fake_count - notifications of a kind; of a process unless pid is 0. */
size_t fake_count(const struct _KE_SYSTEM *ke, uint32_t kind, uint32_t pid);

/* fake_clear - forget everything. */
void fake_clear(struct _KE_SYSTEM *ke);

#endif
