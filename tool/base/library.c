/* SPDX-License-Identifier: MIT */
/* library.c - see library.h. */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

bool
library_load(const char *name, const struct library_function *functions, size_t count)
{
    void *const library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool whole = library != NULL;

    for (size_t i = 0; i < count && whole; i++) {
        void *const found = dlsym(library, functions[i].name);

        /* Pointers to functions and to data have one size here; C does not say so. */
        memcpy(functions[i].pointer, &found, sizeof(found));
        whole = found != NULL;
    }
    if (library != NULL) {
        dlclose(library);
    }
    return whole;
}
