/* SPDX-License-Identifier: MIT */
/*
 * http.h - the agent's HTTP server: /debug/pprof/profile?seconds=N, /metrics and
 * /healthz.
 *
 * It answers GET and HEAD, reads no file, and serves a bounded number of connections,
 * each for a bounded time. Requests of profiles are queued; the thread that makes looks
 * takes and answers them.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SERVER_CONNECTIONS_MAX = 16,
    SERVER_PROFILES_MAX = 4, /* at a time */
    SERVER_SECONDS_MAX = 300,
    SERVER_SECONDS_DEFAULT = 30,
    SERVER_TIMEOUT_S = 10,
};

struct agent_settings;
struct buffer;
struct http_server;

/* server_request - a profile that a client waits for. */
struct server_request;

/* server_calls - what the server asks of the agent, on its own thread. */
struct server_calls {
    void (*print_metrics)(void *context, struct buffer *text);
    bool (*is_healthy)(void *context);
    void *context;
};

/* Start the server. Returns NULL with the reason in why. */
struct http_server *http_server_start(const struct agent_settings *settings,
                                      const struct server_calls *calls, char *why,
                                      size_t size);

/* Refuse what is queued, and stop. NULL is allowed. */
void http_server_stop(struct http_server *server);

/* Return a descriptor that is readable while a request is queued, or -1. */
int http_server_fd(const struct http_server *server);

/* Take a queued request and its duration. Returns NULL if there is none. */
struct server_request *http_server_take(struct http_server *server, uint64_t *seconds);

/*
 * Answer a request, which then belongs to the server again.
 *
 *   bytes  a profile file, malloc'd and taken over; NULL: it failed
 */
void http_server_answer(struct http_server *server, struct server_request *request,
                        void *bytes, size_t size);

#endif
