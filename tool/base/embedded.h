/* SPDX-License-Identifier: MIT */
/*
 * embedded.h - files inside of the command's own file, where it was built as one file
 * that needs no other (option one_file of meson).
 */
#ifndef BASE_EMBEDDED_H
#define BASE_EMBEDDED_H

#include <stdbool.h>
#include <stddef.h>

struct embedded_file {
    const char *name;
    const unsigned char *bytes; /* with a NUL behind them */
    size_t size;
};

/* embedded_is_used - whether the command was built so. */
bool embedded_is_used(void);

/* embedded_find - find a file by its name. NULL: there is none. */
const struct embedded_file *embedded_find(const char *name);

#endif
