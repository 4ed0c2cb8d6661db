/* SPDX-License-Identifier: MIT */
/*
 * no_demangle.c - in place of tool/symbols/border/demangle.c: a forged name can take
 * libiberty for ever, which the time of a reader's process ends and a fuzzer reports.
 */
#include "symbols/border/demangle.h"

#include <stddef.h>

char *
sym_demangle(const char *mangled)
{
    (void)mangled;
    return NULL;
}

char *
sym_demangle_plain(const char *mangled)
{
    (void)mangled;
    return NULL;
}
