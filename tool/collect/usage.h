/* SPDX-License-Identifier: MIT */
/* usage.h - how much memory the process has. */
#ifndef COLLECT_USAGE_H
#define COLLECT_USAGE_H

#include <stdint.h>

/* Bytes in memory that are the process's own: no files that it maps. 0 if /proc does
 * not tell. */
uint64_t usage_bytes(void);

#endif
