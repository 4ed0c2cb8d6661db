/* SPDX-License-Identifier: MIT */
/*
 * http_microhttpd.c - the server, by libmicrohttpd and one thread of it.
 *
 * Invariants, with the mutex held: a request that was queued is in requests until its
 * completion. It is suspended while its state is QUEUED or TAKEN, and only
 * http_server_answer and http_server_stop resume it.
 */
#include "http/http.h"

#include "base/buffer.h"
#include "http/microhttpd_library.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTION_BYTES = 16 * 1024, RECEIVED_BYTES_MAX = 256 * 1024 };

enum state { NEW, QUEUED, TAKEN, ANSWERED };

struct http_request {
    struct http_request *next; /* in requests */
    struct MHD_Connection *connection;
    char *path;
    struct buffer arguments; /* names and values, each with its NUL */
    size_t argument_count;
    enum state state;
    size_t received_bytes;     /* behind the headers */
    struct http_answer answer; /* all zero: the server ends */
};

struct http_server {
    struct MHD_Daemon *daemon;
    struct http_settings settings;
    int queue_fd; /* a semaphore: as many as are queued */
    pthread_mutex_t lock;
    struct http_request *requests; /* newest first */
    size_t request_count;
    bool closing;
};

/* Set before a server starts. */
static struct microhttpd_library mhd;

/* Send an answer, which is taken over. */
static enum MHD_Result
respond(struct MHD_Connection *connection, const struct http_answer *answer)
{
    struct MHD_Response *const response = mhd.create_response_from_buffer(
        answer->size, answer->bytes, MHD_RESPMEM_MUST_FREE);
    enum MHD_Result result;

    if (response == NULL) {
        free(answer->bytes);
        return MHD_NO;
    }
    (void)mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    (void)mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)mhd.add_response_header(response, "Referrer-Policy", "no-referrer");
    (void)mhd.add_response_header(response, "Cross-Origin-Resource-Policy",
                                  "same-origin");
    (void)mhd.add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (answer->policy != NULL) {
        (void)mhd.add_response_header(response, "Content-Security-Policy",
                                      answer->policy);
    }
    result = mhd.queue_response(connection, answer->status, response);
    mhd.destroy_response(response);
    return result;
}

static enum MHD_Result
respond_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
    struct http_answer answer;

    http_text(&answer, status, text);
    return respond(connection, &answer);
}

/* ---- requests ---- */

static enum MHD_Result
keep_argument(void *context, enum MHD_ValueKind kind, const char *name,
              const char *value)
{
    struct http_request *const request = context;

    (void)kind;
    buffer_append(&request->arguments, name, strlen(name) + 1);
    buffer_append(&request->arguments, value != NULL ? value : "",
                  value != NULL ? strlen(value) + 1 : 1);
    request->argument_count++;
    return MHD_YES;
}

static void
request_delete(struct http_request *request)
{
    free(request->path);
    free(request->answer.bytes);
    buffer_finish(&request->arguments);
    free(request);
}

/* Return a request with a copy of what it asks for; NULL if memory runs out. */
static struct http_request *
request_new(struct MHD_Connection *connection, const char *path)
{
    struct http_request *const request = calloc(1, sizeof(*request));

    if (request == NULL) {
        return NULL;
    }
    request->connection = connection;
    request->path = strdup(path);
    (void)mhd.get_connection_values(connection, MHD_GET_ARGUMENT_KIND, keep_argument,
                                    request);
    if (request->path == NULL || request->arguments.failed) {
        request_delete(request);
        return NULL;
    }
    return request;
}

const char *
http_path(const struct http_request *request)
{
    return request->path;
}

bool
http_argument_at(const struct http_request *request, size_t index, const char **name,
                 const char **value)
{
    const char *at = (const char *)request->arguments.data;

    if (index >= request->argument_count) {
        return false;
    }
    for (size_t skipped = 0; skipped < index * 2; skipped++) {
        at += strlen(at) + 1;
    }
    *name = at;
    *value = at + strlen(at) + 1;
    return true;
}

const char *
http_argument(const struct http_request *request, const char *name)
{
    const char *known;
    const char *value;

    for (size_t i = 0; http_argument_at(request, i, &known, &value); i++) {
        if (strcmp(known, name) == 0) {
            return value;
        }
    }
    return NULL;
}

/* ---- the queue ---- */

/* Queue a request and suspend its connection. Returns false if there are too many. */
static bool
queue_request(struct http_server *server, struct http_request *request)
{
    const uint64_t one = 1;
    bool queued;

    pthread_mutex_lock(&server->lock);
    queued = !server->closing && server->request_count < server->settings.queue_max;
    if (queued) {
        request->state = QUEUED;
        request->next = server->requests;
        server->requests = request;
        server->request_count++;
        mhd.suspend_connection(request->connection);
        (void)!write(server->queue_fd, &one, sizeof(one));
    }
    pthread_mutex_unlock(&server->lock);
    return queued;
}

/* Send what a queued request was answered. */
static enum MHD_Result
finish_request(struct http_server *server, struct http_request *request)
{
    struct http_answer answer;
    bool answered;

    pthread_mutex_lock(&server->lock);
    answered = request->state == ANSWERED;
    answer = request->answer;
    request->answer.bytes = NULL;
    pthread_mutex_unlock(&server->lock);
    if (!answered) {
        return MHD_YES; /* it is still suspended */
    }
    return answer.status == 0 ? respond_text(request->connection, HTTP_UNAVAILABLE,
                                             "ntprof ends; try again later\n")
                              : respond(request->connection, &answer);
}

/* ---- the daemon ---- */

static enum MHD_Result
answer_request(struct http_server *server, struct http_request *request,
               const char *method)
{
    struct MHD_Connection *const connection = request->connection;
    struct http_answer answer = {0};

    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
        strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return respond_text(connection, HTTP_NO_METHOD, "only GET is answered\n");
    }
    if (!http_allows_host(&server->settings.address,
                          mhd.lookup_connection_value(connection, MHD_HEADER_KIND,
                                                      MHD_HTTP_HEADER_HOST))) {
        return respond_text(
            connection, HTTP_FORBIDDEN,
            "this address is answered by the names localhost, 127.x.x.x "
            "and [::1] only\n");
    }
    if (request->argument_count > HTTP_ARGUMENTS_MAX) {
        return respond_text(connection, HTTP_BAD_REQUEST, "too many arguments\n");
    }
    if (server->settings.answer(server->settings.context, request, &answer)) {
        return respond(connection, &answer);
    }
    return queue_request(server, request) ? MHD_YES
                                          : respond_text(connection, HTTP_UNAVAILABLE,
                                                         server->settings.queue_full);
}

static enum MHD_Result
on_call(void *argument, struct MHD_Connection *connection, const char *url,
        const char *method, const char *version, const char *upload,
        size_t *upload_size, void **context)
{
    struct http_server *const server = argument;
    struct http_request *request = *context;

    (void)version;
    (void)upload;
    if (request == NULL) {
        request = request_new(connection, url);
        *context = request;
        return request != NULL ? MHD_YES : MHD_NO; /* headers are complete later */
    }
    if (request->state != NEW) {
        return finish_request(server, request);
    }
    /* What comes with a request is of no use, but a client that cannot finish it sees
     * no answer. If it is more, libmicrohttpd closes the connection. */
    if (*upload_size != 0) {
        request->received_bytes += *upload_size;
        *upload_size = 0;
        return request->received_bytes <= RECEIVED_BYTES_MAX ? MHD_YES : MHD_NO;
    }
    return answer_request(server, request, method);
}

static void
on_complete(void *argument, struct MHD_Connection *connection, void **context,
            enum MHD_RequestTerminationCode code)
{
    struct http_server *const server = argument;
    struct http_request **next = &server->requests;
    struct http_request *const request = *context;

    (void)connection;
    (void)code;
    if (request == NULL) {
        return;
    }
    pthread_mutex_lock(&server->lock);
    if (request->state != NEW) {
        while (*next != request) {
            next = &(*next)->next;
        }
        *next = request->next;
        server->request_count--;
    }
    pthread_mutex_unlock(&server->lock);
    request_delete(request);
    *context = NULL;
}

static struct MHD_Daemon *
start_daemon(struct http_server *server)
{
    const struct sockaddr *const address =
        (const struct sockaddr *)&server->settings.address;
    const unsigned v6 = address->sa_family == AF_INET6 ? MHD_USE_IPv6 : 0u;
    struct MHD_Daemon *daemon;
    sigset_t all;
    sigset_t old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    /* By poll: select knows no descriptors above 1023, which events of a large machine
     * have used. Without MHD_OPTION_LISTENING_ADDRESS_REUSE, which sets SO_REUSEPORT: a
     * second server would be given half of the connections. */
    daemon = mhd.start_daemon(
        MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME | v6,
        0, NULL, NULL, on_call, server, MHD_OPTION_SOCK_ADDR, address,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
        MHD_OPTION_NOTIFY_COMPLETED, on_complete, server, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return daemon;
}

struct http_server *
http_server_start(const struct http_settings *settings, char *why, size_t size)
{
    struct http_server *const server = calloc(1, sizeof(*server));

    if (server == NULL) {
        snprintf(why, size, "out of memory");
        return NULL;
    }
    if (!microhttpd_load(&mhd)) {
        snprintf(why, size, "install Debian's libmicrohttpd12");
        free(server);
        return NULL;
    }
    server->settings = *settings;
    pthread_mutex_init(&server->lock, NULL);
    server->queue_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    errno = 0;
    server->daemon = server->queue_fd >= 0 ? start_daemon(server) : NULL;
    if (server->daemon == NULL) {
        snprintf(why, size, "%s",
                 errno != 0 ? strerror(errno) : "it cannot be started");
        http_server_stop(server);
        return NULL;
    }
    return server;
}

/* Let answers reach their clients, for a second at most: MHD_stop_daemon drops them. */
static void
wait_for_answers(struct http_server *server)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    size_t left = 1;

    for (int i = 0; i < 100 && left > 0; i++) {
        pthread_mutex_lock(&server->lock);
        left = server->request_count;
        pthread_mutex_unlock(&server->lock);
        if (left > 0) {
            nanosleep(&pause, NULL);
        }
    }
}

void
http_server_stop(struct http_server *server)
{
    if (server == NULL) {
        return;
    }
    pthread_mutex_lock(&server->lock);
    server->closing = true;
    for (struct http_request *request = server->requests; request != NULL;
         request = request->next) {
        if (request->state != ANSWERED) {
            request->state = ANSWERED;
            mhd.resume_connection(request->connection);
        }
    }
    pthread_mutex_unlock(&server->lock);
    if (server->daemon != NULL) {
        wait_for_answers(server);
        mhd.stop_daemon(server->daemon);
    }
    if (server->queue_fd >= 0) {
        close(server->queue_fd);
    }
    pthread_mutex_destroy(&server->lock);
    free(server);
}

int
http_server_fd(const struct http_server *server)
{
    return server != NULL ? server->queue_fd : -1;
}

struct http_request *
http_server_take(struct http_server *server)
{
    struct http_request *oldest = NULL;
    uint64_t one;

    if (server == NULL || read(server->queue_fd, &one, sizeof(one)) < 0) {
        return NULL;
    }
    pthread_mutex_lock(&server->lock);
    for (struct http_request *request = server->requests; request != NULL;
         request = request->next) {
        if (request->state == QUEUED) {
            oldest = request;
        }
    }
    if (oldest != NULL) {
        oldest->state = TAKEN;
    }
    pthread_mutex_unlock(&server->lock);
    return oldest;
}

void
http_server_answer(struct http_server *server, struct http_request *request,
                   const struct http_answer *answer)
{
    pthread_mutex_lock(&server->lock);
    request->answer = *answer;
    request->state = ANSWERED;
    mhd.resume_connection(request->connection);
    pthread_mutex_unlock(&server->lock);
}
