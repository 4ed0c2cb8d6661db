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

/* Return why the range of kernel_range_find may not contain the code of the running
 * kernel, whose hits would then be outside. Returns NULL if it does contain it. */
const char *kernel_range_doubt(void);

/* Return the doubt for a kernel whose text may be anywhere, by its symbols:
 * /proc/kallsyms, or text of that form, or NULL if it cannot be opened. Returns NULL
 * if there is none. */
const char *kernel_range_doubt_of(FILE *symbols);

#endif
