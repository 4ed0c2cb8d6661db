/* SPDX-License-Identifier: MIT */
/* kernel_range.h - where in the address space the kernel's code may be. */
#ifndef COLLECT_KERNEL_RANGE_H
#define COLLECT_KERNEL_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_range {
    uint64_t begin; /* a multiple of 2 MB */
    uint64_t length;
    bool
        rest; /* where code is rare: neither text nor modules, whose places are known */
};

/* Text, modules, and what is before, between and behind. */
enum { KERNEL_RANGES_MAX = 5 };

/*
 * All of it, in order.
 *
 *   split   text and modules are ranges of their own, as far as their places are known, so that they can
 *           have finer buckets than the rest
 *   ranges  out: at most KERNEL_RANGES_MAX
 *
 * Returns how many.
 */
size_t kernel_ranges_find(bool split, struct kernel_range *ranges);

#endif
