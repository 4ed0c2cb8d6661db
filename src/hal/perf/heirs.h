/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/heirs.h - knows what threads have inherited, while more are being opened.
 *
 * A mark counts nothing and tells when its thread is put on a processor, taken off, and when it ends. A thread gets
 * some before all of its other events are opened, and some behind them. What a new thread inherits is settled at one
 * instant: so one that a mark behind tells of, which is another thread's, has all of that thread's events, and so
 * have those that it makes itself; one that a mark before tells of alone may have some of them; and one that has been
 * on a processor and that no mark tells of has none.
 *
 * Marks last for one opening. They help, and are not needed: when one cannot be had, they are all given up.
 */
#ifndef HAL_PERF_HEIRS_H
#define HAL_PERF_HEIRS_H

#include "hal/perf/perf.h"

struct perf_heirs {
    struct perf_ring **rings; /* by processor, of marks alone; NULL: no mark yet */
    struct perf_events marks;
    struct perf_idmap seen; /* threads that marks told of: what is known of them */
    bool given_up;          /* no more marks, and nothing that they told counts */
};

/*
 * perf_heirs_mark - put a mark on each processor on a thread.
 *
 *   behind  in: all of its events have been opened; else none
 */
void perf_heirs_mark(struct perf *perf, struct perf_heirs *heirs,
                     struct perf_target *target, uint32_t tid, bool behind);

/* perf_heirs_read - learn what marks have told up to now. */
void perf_heirs_read(const struct perf *perf, struct perf_heirs *heirs);

/* perf_heirs_hold - has this thread, which lives, inherited all? False: maybe. A number that was of a thread that
 * has ended is no heir's. */
bool perf_heirs_hold(const struct perf_heirs *heirs, uint32_t tid);

/* perf_heirs_held - the same of one that may have ended since. */
bool perf_heirs_held(const struct perf_heirs *heirs, uint32_t tid);

/* perf_heirs_know - has anything been told of a thread of this number? */
bool perf_heirs_know(const struct perf_heirs *heirs, uint32_t tid);

/* perf_heirs_know_some - may it have inherited some of what a thread has? */
bool perf_heirs_know_some(const struct perf_heirs *heirs, uint32_t tid);

/* perf_heirs_give_up - close all marks. Returns whether there were any. */
bool perf_heirs_give_up(struct perf *perf, struct perf_heirs *heirs);

/* perf_heirs_finish - forget all. */
void perf_heirs_finish(struct perf *perf, struct perf_heirs *heirs);

#endif
