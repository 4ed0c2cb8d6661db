/* SPDX-License-Identifier: MIT */
/* server.c - hands each operation to the module, which the first server loads. */
#include "http/module.h"

static const struct http_module *module; /* loaded by the first http_server_start;
                                          * without a server the functions of requests
                                          * are not called */

struct http_server *
http_server_start(const struct http_settings *settings, char *why, size_t size)
{
    static const struct module needed = {.name = "http",
                                         .library = "libmicrohttpd",
                                         .package = "libmicrohttpd12",
                                         .headers = "libmicrohttpd-dev"};

    module = module_load(&needed, why, size);
    return module == NULL ? NULL : module->start(settings, why, size);
}

void
http_server_stop(struct http_server *server)
{
    if (server != NULL) {
        module->stop(server);
    }
}

int
http_server_fd(const struct http_server *server)
{
    return server == NULL ? -1 : module->fd(server);
}

struct http_request *
http_server_take(struct http_server *server)
{
    return server == NULL ? NULL : module->take(server);
}

bool
http_server_is_gone(struct http_server *server, const struct http_request *request)
{
    return module->is_gone(server, request);
}

void
http_server_answer(struct http_server *server, struct http_request *request,
                   const struct http_answer *answer)
{
    module->answer(server, request, answer);
}

const char *
http_path(const struct http_request *request)
{
    return module->path(request);
}

const char *
http_argument(const struct http_request *request, const char *name)
{
    return module->argument(request, name);
}

bool
http_argument_at(const struct http_request *request, size_t index, const char **name,
                 const char **value)
{
    return module->argument_at(request, index, name, value);
}
