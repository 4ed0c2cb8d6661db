/* SPDX-License-Identifier: MIT */
/*
 * llvm_names.h - how LLVM names functions and code of one line. Only tool/view/export
 * includes it.
 *
 * A discriminator is three numbers, packed by a code of prefixes: the first
 * distinguishes code of one line, the second how many copies the compiler made of it,
 * the third which copy it is.
 */
#ifndef VIEW_EXPORT_LLVM_NAMES_H
#define VIEW_EXPORT_LLVM_NAMES_H

#include <stdint.h>

/* The first number, as profiles have it. */
uint32_t llvm_base_discriminator(uint32_t discriminator);

/* The second, at least 1: each copy of the code ran less often than all. */
uint32_t llvm_copies(uint32_t discriminator);

/* Cuts ".llvm.NUMBER" and ".part.NUMBER" off the end of a name, in place: it is of the
 * function before the compiler made others of it. */
void llvm_cut_suffixes(char *name);

#endif
