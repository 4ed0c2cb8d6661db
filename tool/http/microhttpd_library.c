/* SPDX-License-Identifier: MIT */
/* microhttpd_library.c - see microhttpd_library.h. */
#include "http/microhttpd_library.h"

#include "base/library.h"

bool
microhttpd_load(struct microhttpd_library *library)
{
    const struct library_function functions[] = {
#define MICROHTTPD_FUNCTION(name) {"MHD_" #name, &library->name},
        MICROHTTPD_FUNCTIONS(MICROHTTPD_FUNCTION)
#undef MICROHTTPD_FUNCTION
    };

    return library_load("libmicrohttpd.so.12", functions,
                        sizeof(functions) / sizeof(functions[0]));
}
