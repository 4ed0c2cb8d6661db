/* SPDX-License-Identifier: MIT */
/*
 * name_map.h - what the readers of perf maps and of the kernel's symbols share.
 */
#ifndef SYM_NAME_MAP_H
#define SYM_NAME_MAP_H

#include "sym/sym.h"
#include "sym/table.h"

/* sym_map - names by run-time address. The tag of an entry is the index of its module.
 */
struct sym_map {
    struct sym_table table;
    const char **modules; /* [0] is ""; strings are owned by the table */
    size_t module_count;
    unsigned int shares; /* users beside the first */
};

/*
 * The kernel's symbols from the text of /proc/kallsyms (malloc'd, with a NUL at its
 * end; taken over, also on failure) and of /proc/modules (changed; NULL if there is
 * none). Errors as in sym_map_open_kernel.
 */
struct sym_map *sym_map_parse_kernel(char *kallsyms, char *modules, uint64_t *begin,
                                     uint64_t *end);

/*
 * The lines of /proc/kallsyms, read from fd, that name what is wanted, with those that
 * end texts: for sym_map_parse_kernel. They take a hundredth of the memory, which the
 * kernel would have to clear first. NULL with errno.
 */
char *sym_kernel_thin(int fd, const struct sym_wanted *wanted);

/* A number in base 16 with or without 0x; moves text behind it. False if there is none
 * or it is too large. */
bool sym_parse_hex(const char **text, uint64_t *value);

#endif
