/* SPDX-License-Identifier: MIT */
/* serve.c - takes requests, one after the other, until a signal. */
#include "serve/serve.h"

#include <poll.h>
#include <string.h>

/* Return whether a signal of termination came. */
static bool
is_ending(void *context)
{
    struct pollfd place = {.fd = *(const int *)context, .events = POLLIN};

    return poll(&place, 1, 0) > 0;
}

/* Answer what has no page, on the server's thread. */
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

/* Make all pages that are asked for. */
static void
serve(const struct serve_settings *settings, struct http_server *server, int signal_fd)
{
    const struct store_stop stop = {.asked = is_ending, .context = &signal_fd};
    struct pollfd places[] = {{.fd = signal_fd, .events = POLLIN},
                              {.fd = http_server_fd(server), .events = POLLIN}};
    struct http_request *request;
    struct serve_query query;
    struct http_answer answer;

    while (!is_ending(&signal_fd)) {
        request = http_server_take(server);
        if (request == NULL) {
            (void)poll(places, 2, -1);
            continue;
        }
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
