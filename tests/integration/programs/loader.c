/* SPDX-License-Identifier: MIT */
/* loader.c - loads and unloads a library several times. usage: loader LIBRARY TIMES */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
    for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--) {
        void *const library = dlopen(argv[1], RTLD_NOW);

        if (library == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        dlclose(library);
    }
    return 0;
}
