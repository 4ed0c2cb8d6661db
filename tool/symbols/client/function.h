/* SPDX-License-Identifier: MIT */
/* function.h - where in an ELF image a function begins. The image is hostile. */
#ifndef SYMBOLS_CLIENT_FUNCTION_H
#define SYMBOLS_CLIENT_FUNCTION_H

#include "symbols/border/function.h"

#include <stdint.h>

enum { SYM_FUNCTION_SECONDS = 10 };

/*
 * Look for a function in the symbol tables of an image and of its debug file.
 *
 *   fd    the file; borrowed
 *   path  where it is, for the search of debug files
 *   name  as in the table, or demangled, with or without parameters; or 0xADDRESS
 *   bytes what the tables may take; 0: 1 GiB
 *
 * Returns 0, also if no function has the name: found->count is 0 then; -ENOEXEC if it
 * is no ELF file, -ENOMEM, -EFBIG if its tables are larger than bytes, -ETIME after
 * SYM_FUNCTION_SECONDS of processor time, or another negative errno.
 */
int sym_find_function(int fd, const char *path, const char *name, uint64_t bytes,
                      struct sym_function *found);

#endif
