/* SPDX-License-Identifier: MIT */
/* kernel.h - names of the kernel's functions. */
#ifndef SYMBOLS_CLIENT_KERNEL_H
#define SYMBOLS_CLIENT_KERNEL_H

#include "symbols/border/name_map.h"

#include <stdint.h>
#include <stdio.h>

/*
 * Read the kernel's functions, and their modules, from /proc/kallsyms; with wanted, for
 * root, from where a former command kept them, or they are kept there.
 *
 *   wanted      only symbols that cover these buckets are kept, and nothing else may be
 *               looked up; NULL: all are kept
 *   begin, end  out: the range from _stext to _etext, which modules are outside of
 *
 * Returns NULL with errno; EACCES if the addresses are hidden (kptr_restrict).
 */
struct sym_map *sym_map_open_kernel(const struct sym_wanted *wanted, uint64_t *begin,
                                    uint64_t *end);

/*
 * Do the same with open files of the form of /proc/kallsyms and /proc/modules. modules
 * may be NULL: there are none.
 */
struct sym_map *sym_map_read_kernel(FILE *kallsyms, FILE *modules,
                                    const struct sym_wanted *wanted, uint64_t *begin,
                                    uint64_t *end);

#endif
