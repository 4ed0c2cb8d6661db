/* SPDX-License-Identifier: MIT */
/*
 * symbol_list.h - the functions of an ELF file as its linker listed them, for tools
 * that find them by these names. The file is hostile.
 */
#ifndef SYMBOLS_CLIENT_SYMBOL_LIST_H
#define SYMBOLS_CLIENT_SYMBOL_LIST_H

#include "symbols/border/symbol_list.h"

#include <stdint.h>

/*
 * Read .symtab of the file itself, not of a debug file.
 *
 *   fd    borrowed
 *   bytes limit for the memory of the list; 0: 1 GiB
 *   list  out: sym_symbol_list_finish must be called in any case
 *
 * Returns 0, also if there are no symbols; -ENOEXEC if it is no ELF file; -ENOMEM;
 * -EFBIG if the list is larger than bytes; -EIO if it cannot be read completely.
 */
int sym_symbol_list_read(int fd, uint64_t bytes, struct sym_symbol_list *list);

#endif
