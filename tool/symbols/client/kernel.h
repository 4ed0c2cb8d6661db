/* SPDX-License-Identifier: MIT */
/* kernel.h - names of the kernel's functions. */
#ifndef SYMBOLS_CLIENT_KERNEL_H
#define SYMBOLS_CLIENT_KERNEL_H

#include "symbols/border/name_map.h"

#include <stdint.h>
#include <stdio.h>

/*
 * /proc/kallsyms, text symbols with their module: all, or those that cover what is
 * wanted, and then nothing else may be looked up. NULL with errno; EACCES if the
 * addresses are hidden (kptr_restrict). begin and end give the range from _stext to
 * _etext, and module range lines as symbols after it.
 */
struct sym_map *sym_map_open_kernel(const struct sym_wanted *wanted, uint64_t *begin,
                                    uint64_t *end);

/*
 * The kernel's symbols from /proc/kallsyms and /proc/modules, which may be NULL.
 * Errors, and what wanted is for, as in sym_map_open_kernel.
 */
struct sym_map *sym_map_read_kernel(FILE *kallsyms, FILE *modules,
                                    const struct sym_wanted *wanted, uint64_t *begin,
                                    uint64_t *end);

#endif
