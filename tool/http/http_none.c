/* SPDX-License-Identifier: MIT */
/* http_none.c - the server of an ntprof built without libmicrohttpd: only a reason. */
#include "http/http.h"

#include <stdio.h>

const char *
http_path(const struct http_request *request)
{
    (void)request;
    return "";
}

const char *
http_argument(const struct http_request *request, const char *name)
{
    (void)request;
    (void)name;
    return NULL;
}

bool
http_argument_at(const struct http_request *request, size_t index, const char **name,
                 const char **value)
{
    (void)request;
    (void)index;
    (void)name;
    (void)value;
    return false;
}

struct http_server *
http_server_start(const struct http_settings *settings, char *why, size_t size)
{
    (void)settings;
    snprintf(why, size,
             "ntprof was built without libmicrohttpd: install libmicrohttpd-dev and "
             "build it again");
    return NULL;
}

void
http_server_stop(struct http_server *server)
{
    (void)server;
}

int
http_server_fd(const struct http_server *server)
{
    (void)server;
    return -1;
}

struct http_request *
http_server_take(struct http_server *server)
{
    (void)server;
    return NULL;
}

void
http_server_answer(struct http_server *server, struct http_request *request,
                   const struct http_answer *answer)
{
    (void)server;
    (void)request;
    (void)answer;
}
