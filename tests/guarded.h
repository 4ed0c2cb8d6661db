/* SPDX-License-Identifier: MIT */
/*
 * guarded.h - memory for tests, between two pages that cannot be touched: who reads or
 * writes one byte behind the end or before the beginning dies at once.
 *
 * Every test that passes real memory to a profile takes it from here. (host_sim_map has
 * guards of its own, the library makes what ntprof_buffer_alloc gives, and the examples
 * that are run as tests are programs of users, with memory of malloc's, which a
 * sanitizer guards.) A failure to make memory fails the test.
 */
#ifndef TESTS_GUARDED_H
#define TESTS_GUARDED_H

#include <ntprof/nt_types.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- buffers, which last until guarded_finish; any thread makes them ---- */

/*
 * guarded_counters - a private buffer that ends where a guard page begins, all 0.
 *
 *   counters  how many; 0 gives the address of the guard
 */
ULONG *guarded_counters(size_t counters);

/* guarded_counters_behind - one that begins right behind a guard page. */
ULONG *guarded_counters_behind(size_t counters);

/* guarded_finish - gives back all buffers. Profiles must be stopped: for the end of a
 * test. */
void guarded_finish(void);

/* ---- pages ---- */

struct guarded {
    unsigned char *pages;
    size_t bytes;
};

/* guarded_make - pages of 0 between two guards. kind: MAP_PRIVATE or MAP_SHARED. */
struct guarded guarded_make(size_t pages, int kind);
void guarded_free(struct guarded *memory);

/* guarded_end - the last counters of it, which end where the guard begins. */
ULONG *guarded_end(const struct guarded *memory, size_t counters);

/* ---- memory of a kind that cannot be made: stack, heap, data ---- */

/* Of an area for guarded_within, beside the counters: pages have 64 kB at most. */
enum { GUARDED_ROOM = 2 * 0x10000 };

/*
 * guarded_within - counters in a part of an area, which end where a page of it begins
 * that cannot be touched until guarded_give_back.
 *
 *   area      a test's own memory, of counters and GUARDED_ROOM bytes or more
 */
ULONG *guarded_within(void *area, size_t bytes, size_t counters);

/* guarded_give_back - the area is as it was before. */
void guarded_give_back(void *area, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
