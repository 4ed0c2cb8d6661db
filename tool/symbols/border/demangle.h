/* SPDX-License-Identifier: MIT */
/* demangle.h - names as their programmers wrote them. */
#ifndef SYMBOLS_BORDER_DEMANGLE_H
#define SYMBOLS_BORDER_DEMANGLE_H

/* Demangle a name of C++ or Rust (v0 and legacy). Returns a string for free(), or NULL
 * if it is no mangled name or memory runs out. */
char *sym_demangle(const char *mangled);

/* Do the same, but leave out the type that a C++ function returns. */
char *sym_demangle_plain(const char *mangled);

#endif
