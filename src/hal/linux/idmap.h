/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/idmap.h - numbers to pointers: event ids, pids, tids.
 *
 * A hash map with open addressing, at most two thirds full, without tombstones: removal
 * moves later entries up. Only perf_idmap_put allocates.
 */
#ifndef HAL_LINUX_IDMAP_H
#define HAL_LINUX_IDMAP_H

#include <stddef.h>
#include <stdint.h>

struct perf_idmap_entry {
    uint64_t id;
    void *value; /* NULL: free */
};

struct perf_idmap {
    struct perf_idmap_entry *entries;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* perf_idmap_finish - free the map, not the values. */
void perf_idmap_finish(struct perf_idmap *map);

/* perf_idmap_find - return the value of id, or NULL. */
void *perf_idmap_find(const struct perf_idmap *map, uint64_t id);

/* perf_idmap_put - set the value (not NULL) of id. Returns 0 or -ENOMEM. */
int perf_idmap_put(struct perf_idmap *map, uint64_t id, void *value);

/* perf_idmap_remove - remove id. Returns its value, or NULL if it had none. */
void *perf_idmap_remove(struct perf_idmap *map, uint64_t id);

#endif
