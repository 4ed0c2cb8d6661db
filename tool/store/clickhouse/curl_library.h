/* SPDX-License-Identifier: MIT */
/*
 * curl_library.h - the functions of libcurl that are used, without the prefix curl_.
 */
#ifndef STORE_CLICKHOUSE_CURL_LIBRARY_H
#define STORE_CLICKHOUSE_CURL_LIBRARY_H

#include <curl/curl.h>

#define CURL_FUNCTIONS(f)                                                       \
    f(easy_init) f(easy_cleanup) f(easy_setopt) f(easy_getinfo) f(easy_perform) \
        f(easy_escape) f(easy_strerror) f(free) f(slist_append) f(slist_free_all)

struct curl_library {
#define CURL_MEMBER(name) __typeof__(curl_##name) *name;
    CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

/* curl_library - load libcurl at the first call. NULL if it is not installed. Threads:
 * any. */
const struct curl_library *curl_library(void);

#endif
