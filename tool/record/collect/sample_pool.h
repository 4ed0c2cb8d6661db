/* SPDX-License-Identifier: MIT */
/*
 * sample_pool.h - stacks that wait for their walk, in memory of a fixed size that no
 * core dump contains: they hold whatever was on the stacks of other programs.
 *
 * The caller's lock guards all calls and samples.
 */
#ifndef RECORD_COLLECT_SAMPLE_POOL_H
#define RECORD_COLLECT_SAMPLE_POOL_H

#include <stddef.h>

struct sample_pool;

/* Create a pool of so much memory, which is touched only when it is needed, for samples
 * of at most largest_bytes. Returns NULL if memory runs out. */
struct sample_pool *sample_pool_create(size_t bytes, size_t largest_bytes);
void sample_pool_delete(struct sample_pool *pool); /* NULL is allowed */

/* Take memory for one more sample of at least one byte, in which nothing is set.
 * Returns NULL if the pool has no room for the largest one: whether a sample is refused
 * does not depend on its size. */
void *sample_pool_take(struct sample_pool *pool, size_t bytes);

/* Return the sample behind another, or the first one behind NULL, in no order of time.
 * Returns NULL if there is none. */
void *sample_pool_next(const struct sample_pool *pool, const void *sample);

/* Remove a sample; sample_pool_next may still be asked what is behind it. */
void sample_pool_remove(struct sample_pool *pool, const void *sample);

#endif
