/* SPDX-License-Identifier: MIT */
/*
 * library.h - shared libraries that only one command needs. Loaded at its first use:
 * linked, they and all that they need would take time at every start.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* library_function - a function that is looked up. */
struct library_function {
    const char *name;
    void *pointer; /* to the pointer to the function that is set */
};

/*
 * library_load - load a library, for as long as the process runs, and look functions
 * up. It is not unloaded since what it needs keeps memory of its own until then.
 *
 *   name  in: soname
 *
 * Returns false if the library or a function is missing.
 */
bool library_load(const char *name, const struct library_function *functions,
                  size_t count);

#endif
