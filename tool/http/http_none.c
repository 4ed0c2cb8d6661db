/* SPDX-License-Identifier: MIT */
/* http_none.c - the server of an ntprof built without libmicrohttpd: only a reason.
 */
#include "http/http.h"

#include <stdio.h>

struct http_server *
http_server_start(const struct agent_settings *settings,
                  const struct server_calls *calls, char *why, size_t size)
{
    (void)settings;
    (void)calls;
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

struct server_request *
http_server_take(struct http_server *server, uint64_t *seconds)
{
    (void)server;
    *seconds = 0;
    return NULL;
}

void
http_server_answer(struct http_server *server, struct server_request *request,
                   void *bytes, size_t size)
{
    (void)server;
    (void)request;
    (void)bytes;
    (void)size;
}
