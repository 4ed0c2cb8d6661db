/* SPDX-License-Identifier: MIT */
/* kernel_range.h - the address range in which kernel code may be. */
#ifndef RECORD_COLLECT_KERNEL_RANGE_H
#define RECORD_COLLECT_KERNEL_RANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct kernel_range {
    uint64_t begin;  /* a multiple of 2 MB */
    uint64_t length; /* 0: not known for this architecture */
};

/* Return the range of the running kernel. */
struct kernel_range kernel_range_find(void);

/* Set range to the addresses around the kernel's text. symbols: /proc/kallsyms, or text
 * of that form. Returns false, and does not change range, if it has no such address. */
bool kernel_range_around_text(FILE *symbols, struct kernel_range *range);

/* Return why kernel_range_find may not have the running kernel's range, which would put
 * its hits outside; NULL: it has. */
const char *kernel_range_doubt(void);

/* The same for a kernel whose text may be anywhere, by its symbols, or NULL. */
const char *kernel_range_doubt_of(FILE *symbols);

#endif
