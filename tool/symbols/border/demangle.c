/* SPDX-License-Identifier: MIT */
/*
 * demangle.c - libiberty's demanglers.
 *
 * A few hundred bytes of mangled name can stand for an output, or for work, of
 * exponential length. Names of foreign files are demangled in the process that reads
 * them, whose limits of time and memory end that.
 */
#include "symbols/border/demangle.h"

#include <libiberty/demangle.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* libiberty takes some 60 bytes of stack for each byte of name, and recurses. */
#define MANGLED_BYTES_MAX 4096u

/* A longer result counts as forged. */
#define DEMANGLED_BYTES_MAX (UINT32_C(1) << 16)

/* Demangle a name, of C++ with more_options (DMGL_...): names of both languages begin
 * with "_". Returns as sym_demangle. */
static char *
demangle(const char *mangled, int more_options)
{
    /* The limit of MANGLED_BYTES_MAX replaces libiberty's own recursion limit, which
     * refuses names of 1024 bytes and more: there are real ones. */
    const int options =
        DMGL_PARAMS | DMGL_ANSI | more_options |
        (strnlen(mangled, MANGLED_BYTES_MAX) * 2 < DEMANGLE_RECURSION_LIMIT
             ? 0
             : DMGL_NO_RECURSE_LIMIT);
    char *text;

    if (mangled[0] != '_' ||
        strnlen(mangled, MANGLED_BYTES_MAX + 1) > MANGLED_BYTES_MAX) {
        return NULL;
    }
    text = rust_demangle(mangled, DMGL_PARAMS | DMGL_ANSI);
    if (text == NULL) {
        text = cplus_demangle_v3(mangled, options);
    }
    if (text != NULL && (text[0] == '\0' || strlen(text) > DEMANGLED_BYTES_MAX)) {
        free(text);
        return NULL;
    }
    return text;
}

char *
sym_demangle(const char *mangled)
{
    return demangle(mangled, 0);
}

char *
sym_demangle_plain(const char *mangled)
{
    return demangle(mangled, DMGL_RET_DROP);
}
