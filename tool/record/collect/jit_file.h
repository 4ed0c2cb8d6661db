/* SPDX-License-Identifier: MIT */
/*
 * jit_file.h - finds and opens the perf map of a process in limited time, since its
 * /tmp may be on a file system that does not answer (base/time_limit.h).
 *
 * jit_file_read_target and jit_file_open return -ETIMEDOUT when the time was up.
 */
#ifndef RECORD_COLLECT_JIT_FILE_H
#define RECORD_COLLECT_JIT_FILE_H

#include "record/collect/roots.h"
#include "symbols/client/perf_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Processes that lead to a perf map: the one that it is of, and ancestors. */
enum { JIT_FILE_PIDS_MAX = 4 };

/* Return the key of calls that may wait for the /tmp of a process
 * (base/time_limit.h): one for each mount namespace. The first of pids whose
 * namespace can be read gives it; if none can, pids[0] does. */
uint64_t jit_file_key(const uint32_t *pids, size_t count);

/*
 * Read what leads to the perf map of the first of pids or, if it has exited, what leads
 * to that of an ancestor in our pid namespace, where the process had the pid that we
 * know. 0 or negative errno: -ESRCH if nothing can be read.
 *
 *   count   at most JIT_FILE_PIDS_MAX
 *   target  out; its folder is the descriptor of folder
 *   folder  out: the process's /tmp, which the caller closes; fd is -1 if it cannot be
 *           opened
 */
int jit_file_read_target(uint64_t key, const uint32_t *pids, size_t count,
                         struct sym_perf_target *target, struct root *folder);

/* jit_file - a perf map, and what leads to it. */
struct jit_file {
    uint32_t pid;
    bool guessed;                  /* target is unknown: our own /tmp is searched */
    struct sym_perf_target target; /* its users are read again if they have changed */
    int kept;                      /* O_PATH: file to open if the name fails; or -1 */
    struct sym_perf_file file;     /* out; time_limit_close closes it */
    int path_fd;                   /* out: O_PATH; -1: kept was opened, or it failed */
};

/* Open a perf map by its name or, if that fails, the one that is kept. Returns 0 or a
 * negative errno: those of sym_perf_file_open. */
int jit_file_open(uint64_t key, struct jit_file *file);

#endif
