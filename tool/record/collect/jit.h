/* SPDX-License-Identifier: MIT */
/*
 * jit.h - what leads to the perf map of a process, the file with the names of code that
 * it made without a file.
 *
 * Names are looked up when a profile is made, and by then the process has often exited,
 * its file was removed, or its mount namespace is gone. So what leads to the file is
 * read when such code is first notified, and the file is opened while the process runs.
 */
#ifndef RECORD_COLLECT_JIT_H
#define RECORD_COLLECT_JIT_H

#include "record/collect/roots.h"
#include "symbols/client/perf_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* jits - what the perf maps of all processes share: their descriptors, and when
 * to search for them. */
struct jits {
    struct roots folders; /* each process's /tmp */
    size_t maps_open;     /* atomic */
    size_t maps_max;      /* further perf maps are opened only when they are read */
    uint64_t next_ns;     /* CLOCK_MONOTONIC: no search is due before */
};

/* jit - the perf map of one process: where it is and, once found, its descriptor. */
struct jit {
    struct jits *jits; /* NULL: nothing is known */
    uint64_t key;      /* of calls that may wait for its folder: base/time_limit.h */
    struct sym_perf_target
        target;   /* where it is; its folder, if any, is in jits.folders */
    bool known;   /* target was read */
    bool settled; /* do not search: the map was found, or the process exited */
    bool late;    /* target is unknown: its file system did not answer in time */
    /* the perf map, kept open by O_PATH for when it has no name any more; or -1 */
    int map;
    uint64_t map_device; /* st_dev and st_ino of map */
    uint64_t map_inode;
    uint64_t next_ns; /* CLOCK_MONOTONIC: time of the next search for the perf map */
    uint64_t wait_ns; /* from that search to the one after it */
};

/* Close the folders of all perf maps. */
void jits_finish(struct jits *jits);

/* Set a jit to know nothing. */
void jit_init(struct jit *jit);

/* Close the descriptors of a process's perf map. */
void jit_finish(struct jit *jit);

/* Read what leads to the perf map of a process, and search for the file for the
 * first time. What was known of an earlier program of the process is forgotten,
 * unless nothing can be read. ancestors are pids of its parent, of that one's parent
 * and so on: if the process has exited, the first of them that runs in our own pid
 * namespace stands for it. */
void jit_remember(struct jits *jits, struct jit *jit, uint32_t pid,
                  const uint32_t *ancestors, size_t count, uint64_t now_ns);

/* Search for the perf map of a process if that is due, keep it open if it is found, and
 * lower next_ns of the jits to the next search. */
void jit_find_map(struct jit *jit, uint32_t pid, uint64_t now_ns);

/* Copy what is known to taken, which only the thread that makes snapshots uses, and
 * move the open perf map there if there is one. */
void jit_take(struct jit *jit, struct jit *taken);

/* Open the perf map of a process: by its name or, if that fails, the one that was kept
 * open. One that is found by its name is kept from then on. Returns 0 or a negative
 * errno: those of sym_perf_file_open; -ESRCH if the process exited before anything was
 * known and what it might have left in our /tmp is not to be read; -ETIMEDOUT if its
 * file system does not answer. */
int jit_open(struct jit *jit, uint32_t pid, struct sym_perf_file *file);

/* Close what jit_open opened in *file. */
void jit_close(const struct jit *jit, const struct sym_perf_file *file);

#endif
