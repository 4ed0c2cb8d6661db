/* SPDX-License-Identifier: MIT */
/*
 * http.h - a small HTTP server.
 *
 * It answers GET and HEAD, reads no file, and serves a bounded number of connections,
 * each for one request and a bounded time. On a loopback address it answers only what
 * was asked of a loopback name, so that a page of a site whose name leads to this
 * machine (DNS rebinding) reads nothing. What a page of another site asks for is
 * refused: it could not read the answer, but it could keep the server busy.
 *
 * A request is answered at once, on the server's own thread, or queued for another
 * thread, which takes and answers it.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum {
    HTTP_CONNECTIONS_MAX = 16,
    HTTP_ARGUMENTS_MAX = 64, /* of a request; more are refused */
    HTTP_TIMEOUT_S = 10,     /* in which no byte comes or goes */
    HTTP_HEAD_S = 10,        /* for a whole request */
    HTTP_SEND_S = 60,        /* for a whole answer, once it is there */
    HTTP_CLOSED_S = 5,       /* until a client that closed its side counts as gone */
};

/* Statuses that are used. */
enum {
    HTTP_OK = 200,
    HTTP_BAD_REQUEST = 400,
    HTTP_FORBIDDEN = 403,
    HTTP_NOT_FOUND = 404,
    HTTP_NO_METHOD = 405,
    HTTP_FAILED = 500,
    HTTP_UNAVAILABLE = 503,
};

struct http_server;
struct http_request;

/* http_answer - what a client is sent. */
struct http_answer {
    unsigned status;
    const char *type;   /* media type, static */
    const char *policy; /* Content-Security-Policy, static; NULL: none */
    void *bytes;        /* malloc'd, taken over; NULL: nothing */
    size_t size;
};

/* http_settings - where a server listens and who answers. It is copied, with its
 * pointers. */
struct http_settings {
    struct sockaddr_storage address;
    size_t queue_max;       /* most requests that are queued or being answered */
    const char *queue_full; /* the answer to one more; static */
    bool linked; /* links of other sites may lead here: a user's click is answered */
    /* Answer a request. Returns false if it must be queued instead. Called on the
     * server's thread. */
    bool (*answer)(void *context, const struct http_request *request,
                   struct http_answer *answer);
    void *context;
};

/* http_parse_address - parse PORT, ADDRESS:PORT or [ADDRESS]:PORT. Names are not looked
 * up; PORT without an address is on 127.0.0.1. Returns false if the text is none of
 * these. */
bool http_parse_address(struct sockaddr_storage *address, const char *text);

/* For messages about a text that http_parse_address refuses. */
#define HTTP_NO_ADDRESS \
    "must be a port, or an address and a port; such as 127.0.0.1:6070"

/* http_origin - the headers that say where a request comes from; NULL: it has none. */
struct http_origin {
    const char *host;
    const char *origin;
    const char *site; /* Sec-Fetch-Site, and so on */
    const char *mode;
    const char *destination;
    const char *user;
    bool repeated; /* one of them is there twice */
};

/* http_refuse_origin - return 0 if a request with these headers may be answered, or
 * else the status of the refusal, with its text in *why. A request without a Host
 * header may be answered: no browser sends one. */
unsigned http_refuse_origin(const struct http_settings *settings,
                            const struct http_origin *origin, const char **why);

/* http_text - make an answer of plain text. */
void http_text(struct http_answer *answer, unsigned status, const char *text);

/* http_path - return the path of a request, decoded. */
const char *http_path(const struct http_request *request);

/* http_argument - return the value of the first argument with a name, decoded; NULL:
 * there is none. */
const char *http_argument(const struct http_request *request, const char *name);

/* http_argument_at - get the argument with this index. Returns false behind the last
 * one. */
bool http_argument_at(const struct http_request *request, size_t index,
                      const char **name, const char **value);

/* http_server_start - start a server with threads of its own. Returns NULL with the
 * reason in why. */
struct http_server *http_server_start(const struct http_settings *settings, char *why,
                                      size_t size);

/* http_server_stop - stop a server. Requests that still wait for an answer are answered
 * that it ends. NULL is allowed. */
void http_server_stop(struct http_server *server);

/* http_server_fd - return a descriptor that is readable while a request may be queued,
 * and after the client of a request that was taken has gone; -1 without a server.
 * http_server_take makes it unreadable when no request is queued. */
int http_server_fd(const struct http_server *server);

/* http_server_take - take the oldest queued request, which must then be answered.
 * Returns NULL if there is none. */
struct http_request *http_server_take(struct http_server *server);

/* http_server_is_gone - return whether the client of a request that was taken has gone.
 * The request must be answered all the same. */
bool http_server_is_gone(struct http_server *server,
                         const struct http_request *request);

/* http_server_answer - answer a request that was taken; it belongs to the server again.
 * The bytes of the answer are taken over. */
void http_server_answer(struct http_server *server, struct http_request *request,
                        const struct http_answer *answer);

#endif
