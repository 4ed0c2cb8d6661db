/* SPDX-License-Identifier: MIT */
/* perf_map.h - perf maps, in which JITs name the code that they made: finds the file of
 * a process, and has it read. */
#ifndef SYMBOLS_CLIENT_PERF_MAP_H
#define SYMBOLS_CLIENT_PERF_MAP_H

#include "symbols/border/name_map.h"

#include <stdbool.h>
#include <stdint.h>

/* sym_perf_file - a perf map, open. The same file may be that of several processes, by
 * hard links. */
struct sym_perf_file {
    int fd; /* the caller's */
    uint64_t device;
    uint64_t inode;
    uint64_t size; /* at opening */
};

/* sym_perf_target - what leads to the perf map of a process, even after its exit. */
struct sym_perf_target {
    int folder;         /* its /tmp, by O_PATH; the caller's. Else negative errno */
    uint32_t pid;       /* in its innermost pid namespace */
    bool inside;        /* that is a namespace inside ours */
    uint32_t uid;       /* its effective user */
    uint32_t root_uid;  /* root of its user namespace, by our numbers */
    uint64_t started_s; /* CLOCK_REALTIME: when it started; 0: not known */
    bool ancestor;      /* pid is that of the process, which has exited; folder and
                         * users are of an ancestor, and started_s is 0 */
};

/* Read what leads to the perf map of a running process. Returns 0, or -ESRCH if it has
 * exited. */
int sym_perf_target_read(uint32_t pid, struct sym_perf_target *target);

/* Fill in a target for a process that exited before it was read: as if it had the /tmp,
 * user and namespaces of the command. */
void sym_perf_target_guess(uint32_t pid, struct sym_perf_target *target);

/*
 * Open the perf map of a process. Returns 0 or a negative errno: those of
 * sym_open_regular_in; -EOWNERDEAD if the file was last changed more than a second
 * before the process started, so that an earlier one with its pid left it there; -EPERM
 * if it belongs neither to the process's user nor to root.
 */
int sym_perf_file_open(const struct sym_perf_target *target,
                       struct sym_perf_file *file);

/* Check a perf map that is open as sym_perf_file_open does, and fill in *file. Returns
 * 0 or a negative errno; fd stays the caller's in either case. */
int sym_perf_file_check(int fd, const struct sym_perf_target *target,
                        struct sym_perf_file *file);

/*
 * Have a perf map read, of which only the names of wanted buckets are kept. Names are
 * cut at some 1000 bytes. Returns NULL with errno: ESTALE if the file got shorter than
 * size, ETIME if the process that reads it did not answer.
 */
struct sym_map *sym_map_read_perf(int fd, uint64_t size,
                                  const struct sym_wanted *wanted);

#endif
