/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/clock.h - the clock that the kernel gives to records of perf events.
 *
 * It is CLOCK_MONOTONIC_RAW without a time namespace's offset, while clock_gettime adds
 * the offset of the caller's namespace. A reading and a record's time may be compared
 * only after that offset is taken off. It never changes once a process is in the
 * namespace, and a process with several threads cannot change its namespace, so it is
 * found once a session.
 */
#ifndef HAL_LINUX_CLOCK_H
#define HAL_LINUX_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct perf_refusal;

struct perf_clock {
    int64_t offset_ns; /* what clock_gettime adds in the caller's time namespace */
};

/*
 * perf_clock_find - find the offset of the caller's time namespace: 0 in the first one,
 * and on kernels that have none. Without /proc it is 0 too if the kernel (before Linux
 * 6.11) cannot find out by another way that the caller is in a namespace of its own.
 *
 * Returns 0, or negative errno with refusal set: the caller is in a namespace whose
 * offset cannot be read.
 */
int perf_clock_find(struct perf_clock *clock, struct perf_refusal *refusal);

/* perf_clock_parse - get the offset of CLOCK_MONOTONIC from the text of
 * /proc/PID/timens_offsets. Returns false, and does not change offset_ns, if the text
 * has none. */
bool perf_clock_parse(const char *text, int64_t *offset_ns);

/* perf_clock_now_ns - return the time by the clock of the records. */
uint64_t perf_clock_now_ns(const struct perf_clock *clock);

/* perf_clock_shown_ns - return what clock_gettime(CLOCK_MONOTONIC_RAW) showed the
 * caller at the time of a record; 0, which stands for no record, stays 0. */
uint64_t perf_clock_shown_ns(const struct perf_clock *clock, uint64_t record_ns);

/* perf_elapsed_ns - return the time by a clock that must not be compared with records:
 * for measuring how long something takes. */
uint64_t perf_elapsed_ns(void);

#endif
