/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/settle.h - waits until threads are done with creating others.
 *
 * A thread that is opened while it creates another comes too late for that one: what it inherits has been
 * settled early in the call, and /proc shows it only at the end. Nobody tells that a thread is in the midst of that,
 * but one that sleeps is not, nor one that has run for a while since.
 */
#ifndef HAL_PERF_SETTLE_H
#define HAL_PERF_SETTLE_H

#include "hal/linux/event.h"

/* Threads that are waited for. All zero: none. */
struct perf_settling {
    struct perf_settler {
        uint32_t pid;
        uint32_t tid;
        int fd; /* an event of its own, which tells for how long it has run; or none */
    } * items;
    size_t count;
    size_t capacity;
};

/* perf_settle_add - wait for this thread too, which has just been opened, if there is need. The caller's own is in
 * no such call. Returns 0 or -ENOMEM. */
int perf_settle_add(struct perf_settling *settling,
                    const struct perf_features *features, uint32_t pid, uint32_t tid);

/* What is to be done now and then while threads are waited for. */
typedef void perf_settle_meanwhile(void *context);

/*
 * perf_settle_wait - until each may be taken to be done. None is left.
 *
 *   patience_ns  in, out: for how long at most; but for two tenths of a second in any case. Gets less by
 *                what was waited
 *
 * Returns whether all are; false: one never got a processor.
 */
bool perf_settle_wait(struct perf_settling *settling,
                      const struct perf_features *features, uint64_t *patience_ns,
                      perf_settle_meanwhile *meanwhile, void *context);

/* perf_settle_finish - do not wait. */
void perf_settle_finish(struct perf_settling *settling);

#endif
