/* SPDX-License-Identifier: MIT */
/*
 * no_libraries.c - linked into the command that is one file: no shared library is
 * ever loaded into it, as those of the machine need its own libc beside ours. SQLite
 * asks for some in SQL functions that ntprof does not turn on; it is answered that
 * there is none.
 */
#include <stddef.h>

void *__wrap_dlopen(const char *path, int mode);

void *
__wrap_dlopen(const char *path, int mode)
{
    (void)path;
    (void)mode;
    return NULL;
}
