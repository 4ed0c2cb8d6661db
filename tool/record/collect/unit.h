/* SPDX-License-Identifier: MIT */
/*
 * unit.h - what a process belongs to: its systemd unit or its container, by the path of
 * its cgroup.
 */
#ifndef RECORD_COLLECT_UNIT_H
#define RECORD_COLLECT_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for a unit, with its NUL; longer ones are cut. */
enum { UNIT_BYTES = 256 };

/*
 * Find the unit in the path of a cgroup: the id of the innermost container, cut to 12
 * digits as engines show it; else the innermost service or scope, else the innermost
 * slice, else the last part of the path. "" for the root.
 */
void unit_of_path(const char *path, char unit[static UNIT_BYTES]);

/* Find the unit in the text of /proc/PID/cgroup: of version 2 if the process is in a
 * cgroup of it that is not the root, else of systemd's hierarchy. text is changed. */
void unit_of_cgroups(char *text, char unit[static UNIT_BYTES]);

/* Read the unit of a process. Returns false if it cannot be read, as when the process
 * has exited. */
bool unit_read(uint32_t pid, char unit[static UNIT_BYTES]);

#endif
