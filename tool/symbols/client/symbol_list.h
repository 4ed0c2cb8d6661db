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
 * Reads .symtab of the file itself.
 *
 *   fd    borrowed
 *   bytes what the list may take; 0: 1 GiB
 *
 * 0, also if there are none; -ENOEXEC if it is no ELF file, -ENOMEM, -EFBIG if the list
 * is larger than bytes, -EIO if it cannot be read whole. Finish it in any case.
 */
int sym_symbol_list_read(int fd, uint64_t bytes, struct sym_symbol_list *list);

#endif
