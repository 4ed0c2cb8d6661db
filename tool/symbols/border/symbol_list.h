/* SPDX-License-Identifier: MIT */
/* symbol_list.h - the symbols of one file. */
#ifndef SYMBOLS_BORDER_SYMBOL_LIST_H
#define SYMBOLS_BORDER_SYMBOL_LIST_H

#include "sandbox/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sym_symbol {
    uint64_t start; /* link-time */
    uint64_t size;  /* 0: not known */
    const char *name;
    const char *file; /* of a local one: its source, as the list says; or "" */
    bool local;
};

struct sym_symbol_list {
    struct sym_symbol *items; /* by start; of one start global ones first */
    size_t count;
    bool relocations;        /* the linker left them in (--emit-relocs) */
    char *strings;           /* the names, where the list was read */
    struct wire_names names; /* where it came to */
};

/* Also of a list whose reading failed. */
void sym_symbol_list_finish(struct sym_symbol_list *list);

#endif
