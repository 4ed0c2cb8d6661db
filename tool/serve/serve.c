/* SPDX-License-Identifier: MIT */
/* serve.c - takes requests, one after the other, until a signal. */
#include "serve/serve.h"

#include <poll.h>
#include <string.h>

/* making - what the making of one page depends on. */
struct making {
    int signal_fd;
    struct http_server *server;
    struct http_request *request;
};

/* Return whether a signal that ends the command has come. */
static bool
is_ending(int signal_fd)
{
    struct pollfd place = {.fd = signal_fd, .events = POLLIN};

    return poll(&place, 1, 0) > 0;
}

/* Return whether nobody waits for the page any more; for store_stop. */
static bool
is_for_nobody(void *context)
{
    const struct making *const making = context;

    return is_ending(making->signal_fd) ||
           http_server_is_gone(making->server, making->request);
}

/* Refuse paths other than that of the page. Called on the server's thread; false queues
 * the request for this one. */
static bool
answer_request(void *context, const struct http_request *request,
               struct http_answer *answer)
{
    (void)context;
    if (strcmp(http_path(request), "/") == 0) {
        return false;
    }
    http_text(answer, HTTP_NOT_FOUND, "there is only /\n");
    return true;
}

/* Get the arguments of a request, which keeps them. */
static void
read_query(const struct http_request *request, struct serve_query *query)
{
    query->count = 0;
    while (query->count < HTTP_ARGUMENTS_MAX &&
           http_argument_at(request, query->count, &query->names[query->count],
                            &query->values[query->count])) {
        query->count++;
    }
}

/* Make one page after the other until a signal that ends the command. */
static void
serve(const struct serve_settings *settings, struct http_server *server, int signal_fd)
{
    struct making making = {.signal_fd = signal_fd, .server = server};
    const struct store_stop stop = {.asked = is_for_nobody, .context = &making};
    struct pollfd places[] = {{.fd = signal_fd, .events = POLLIN},
                              {.fd = http_server_fd(server), .events = POLLIN}};
    struct http_request *request;
    struct serve_query query;
    struct http_answer answer;

    while (!is_ending(signal_fd)) {
        request = http_server_take(server);
        if (request == NULL) {
            (void)poll(places, 2, -1);
            continue;
        }
        making.request = request;
        read_query(request, &query);
        serve_make_page(settings, &query, &stop, &answer);
        http_server_answer(server, request, &answer);
    }
}

struct http_server *
serve_start(const struct serve_settings *settings, char *why, size_t size)
{
    const struct http_settings http = {
        .address = settings->address,
        .queue_max = SERVE_QUEUE_MAX,
        .queue_full = "too many pages are being made; try again later\n",
        .linked = true,
        .answer = answer_request};

    return http_server_start(&http, why, size);
}

void
serve_run(const struct serve_settings *settings, struct http_server *server,
          int signal_fd)
{
    serve(settings, server, signal_fd);
    http_server_stop(server);
}
