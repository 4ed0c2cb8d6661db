/* SPDX-License-Identifier: MIT */
/* usage.h - memory that the process uses. */
#ifndef RECORD_COLLECT_USAGE_H
#define RECORD_COLLECT_USAGE_H

#include <stdint.h>

/* Return the resident bytes of the process without files that it maps, or 0 if /proc
 * cannot be read. */
uint64_t usage_bytes(void);

#endif
