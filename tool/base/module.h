/* SPDX-License-Identifier: MIT */
/*
 * module.h - code of the command that is loaded when it is needed, together with the
 * libraries that it is linked with: all of them would take time at every start.
 *
 * A module uses the command's own functions, and gives it one interface: a constant
 * struct that a header of its room declares. A program that has modules linked in, as
 * tests have, loads none.
 */
#ifndef BASE_MODULE_H
#define BASE_MODULE_H

#include <stddef.h>

enum { MODULE_WHY_BYTES = 256 };

/* module - what to load, and what messages say if it is missing. */
struct module {
    const char *name;    /* its file is ntprof-NAME.so */
    const char *library; /* that the module needs */
    const char *package; /* Debian's, of the library */
    const char *headers; /* Debian's, to build the module */
};

/*
 * module_load - load a module at its first call.
 *
 * Returns its interface, for as long as the process runs; NULL with the reason and what
 * to do in why (MODULE_WHY_BYTES suffice), and errno: ENOENT if there is none, ELIBACC
 * if it cannot be loaded, ELIBBAD if it is of another build, EPERM if others may have
 * put it there. Any thread.
 */
const void *module_load(const struct module *module, char *why, size_t size);

#endif
