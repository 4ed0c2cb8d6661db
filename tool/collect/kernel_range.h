/* SPDX-License-Identifier: MIT */
/* kernel_range.h - where in the address space the kernel's code may be. */
#ifndef COLLECT_KERNEL_RANGE_H
#define COLLECT_KERNEL_RANGE_H

#include <stdint.h>

struct kernel_range {
    uint64_t begin; /* a multiple of 2 MB */
    uint64_t length;
};

extern const struct kernel_range kernel_range;

#endif
