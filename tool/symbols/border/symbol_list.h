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
    const char *file; /* source file of a local symbol, by the symbol table; or "" */
    bool local;
};

struct sym_symbol_list {
    struct sym_symbol *items; /* sorted by start, then global ones first */
    size_t count;
    bool relocations;        /* the file has relocations of its code (--emit-relocs) */
    char *strings;           /* owns the names in the reader */
    struct wire_names names; /* owns the names in the command */
};

/* Free a list, also after reading it failed. */
void sym_symbol_list_finish(struct sym_symbol_list *list);

#endif
