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

/* llvm_base_discriminator - return the first number, which is the one
 * that profiles have. */
uint32_t llvm_base_discriminator(uint32_t discriminator);

/* llvm_copies - return the second number, or 1 if it is 0. Counts of a copy are
 * multiplied by it, as each copy of the code ran less often than all together. */
uint32_t llvm_copies(uint32_t discriminator);

/* llvm_cut_suffixes - cut ".llvm.NUMBER" and ".part.NUMBER" off the end of a name, in
 * place: the rest is the name before the compiler made other functions of it. */
void llvm_cut_suffixes(char *name);

#endif
