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

/* jits - the descriptors of all of them. */
struct jits {
    struct roots folders; /* each process's /tmp */
    size_t maps_open;     /* atomic */
    size_t maps_max;      /* further perf maps are opened only when they are read */
    uint64_t next_ns;     /* no look is due before */
};

struct jit {
    struct jits *jits;             /* NULL: nothing is known */
    uint64_t key;                  /* of calls that may wait for its folder */
    struct sym_perf_target target; /* its folder, if one, is in jits.folders */
    bool known;                    /* target was read */
    bool settled; /* no look is needed: the map was found, or the process exited */
    bool late;    /* unknown, as its file system did not answer in time */
    /* the perf map, kept open by O_PATH for when it has no name any more; or -1 */
    int map;
    uint64_t map_device; /* st_dev and st_ino of map */
    uint64_t map_inode;
    uint64_t next_ns; /* CLOCK_MONOTONIC: time of the next look for the perf map */
    uint64_t wait_ns; /* from that look to the one after it */
};

void jits_finish(struct jits *jits);

void jit_init(struct jit *jit);

/* Close the descriptors of a process's perf map. */
void jit_finish(struct jit *jit);

/*
 * Read what leads to the perf map of a process, and look for the file for the first
 * time. What was known of an earlier program is forgotten, unless nothing can be read.
 *
 *   ancestors  pids of its parent, of that one's parent and so on: if the process has
 *              exited, the first that runs in our own pid namespace stands for it
 */
void jit_remember(struct jits *jits, struct jit *jit, uint32_t pid,
                  const uint32_t *ancestors, size_t count, uint64_t now_ns);

/* Look for the perf map of a process if that is due, and keep it open. */
void jit_look(struct jit *jit, uint32_t pid, uint64_t now_ns);

/* Copy what is known to taken, which another thread uses, and move the open perf map
 * there if there is one. */
void jit_take(struct jit *jit, struct jit *taken);

/* Open the perf map of a process: by its name or, if that fails, the one that was kept.
 * One that is found by its name is kept too. jit_close closes it.
 * 0 or negative errno: those of sym_perf_file_open; -ESRCH if the process exited before
 * anything was known and what it might have left here is not to be read; -ETIMEDOUT if
 * its file system does not answer. */
int jit_open(struct jit *jit, uint32_t pid, struct sym_perf_file *file);
void jit_close(const struct jit *jit, const struct sym_perf_file *file);

#endif
