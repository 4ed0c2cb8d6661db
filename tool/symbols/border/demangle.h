/* SPDX-License-Identifier: MIT */
/* demangle.h - names as their programmers wrote them. */
#ifndef SYMBOLS_BORDER_DEMANGLE_H
#define SYMBOLS_BORDER_DEMANGLE_H

/* Demangles C++ and Rust (v0 and legacy); malloc'd, or NULL for other names. */
char *sym_demangle(const char *mangled);

/* The same without the type that a C++ function returns. */
char *sym_demangle_plain(const char *mangled);

#endif
