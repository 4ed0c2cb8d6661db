/* SPDX-License-Identifier: MIT */
/*
 * hal/perf/deliver.h - delivers the rings' records: hits to the core, others to the
 * process table. Within a delivery nothing is delivered.
 */
#ifndef HAL_PERF_DELIVER_H
#define HAL_PERF_DELIVER_H

#include "hal/perf/perf.h"

/* What the stream calls. */
extern const struct perf_stream_calls perf_deliver_calls;

/* perf_deliver - deliver records that are due. context: struct perf. Returns ms until
 * the next call, -1: no further call is needed. */
int perf_deliver(void *context);

/* perf_flush - deliver all records made before the call; after a freeze, only the first
 * one does, since later ones have no hits to deliver. context: struct perf. */
void perf_flush(void *context);

#endif
