/* SPDX-License-Identifier: MIT */
/* curl_library.c - see curl_library.h. */
#include "store/clickhouse/curl_library.h"

#include "base/library.h"

#include <pthread.h>

static struct curl_library library;
static bool loaded;

static void
load(void)
{
    const struct library_function functions[] = {
#define CURL_FUNCTION(name) {"curl_" #name, &library.name},
        CURL_FUNCTIONS(CURL_FUNCTION)
#undef CURL_FUNCTION
    };

    loaded = library_load("libcurl.so.4", functions,
                          sizeof(functions) / sizeof(functions[0]));
}

const struct curl_library *
curl_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return loaded ? &library : NULL;
}
