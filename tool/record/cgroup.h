/* SPDX-License-Identifier: MIT */
/* cgroup.h - finds the directory of the cgroup of ntprof system -G. */
#ifndef RECORD_CGROUP_H
#define RECORD_CGROUP_H

#include <stddef.h>

/* cgroup_find - find the directory of a cgroup that events can count: one of version 2,
 * or of the hierarchy of version 1 with perf_event. name is its path in the hierarchy,
 * as in /proc/PID/cgroup, or the directory itself. Returns a malloc'd path, or NULL
 * with the reason in error. */
char *cgroup_find(const char *name, char *error, size_t error_size);

#endif
