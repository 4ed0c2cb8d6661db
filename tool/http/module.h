/* SPDX-License-Identifier: MIT */
/* module.h - the server as a module. Only tool/http includes it. */
#ifndef HTTP_MODULE_H
#define HTTP_MODULE_H

#include "base/module.h"
#include "http/http.h"

/* http_module - what the module consists of. Each member does what the function of
 * http.h with its name promises. */
struct http_module {
    struct http_server *(*start)(const struct http_settings *settings, char *why,
                                 size_t size);
    void (*stop)(struct http_server *server);
    int (*fd)(const struct http_server *server);
    struct http_request *(*take)(struct http_server *server);
    bool (*is_gone)(struct http_server *server, const struct http_request *request);
    void (*answer)(struct http_server *server, struct http_request *request,
                   const struct http_answer *answer);
    const char *(*path)(const struct http_request *request);
    const char *(*argument)(const struct http_request *request, const char *name);
    bool (*argument_at)(const struct http_request *request, size_t index,
                        const char **name, const char **value);
};

#endif
