/* SPDX-License-Identifier: MIT */
/* kernel_range.h - the address range in which kernel code may be. */
#ifndef COLLECT_KERNEL_RANGE_H
#define COLLECT_KERNEL_RANGE_H

#include <stdint.h>

struct kernel_range {
    uint64_t begin;  /* a multiple of 2 MB */
    uint64_t length; /* 0: not known for this architecture */
};

extern const struct kernel_range kernel_range;

#endif
