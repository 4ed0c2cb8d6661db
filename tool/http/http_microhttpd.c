/* SPDX-License-Identifier: MIT */
/*
 * http_microhttpd.c - the server, by libmicrohttpd and one thread of it.
 *
 * Invariants, with the mutex held: a request is in requests from its connection's first
 * call until its completion. It is suspended while its state is QUEUED or TAKEN, and
 * only http_server_answer and http_server_stop resume it.
 */
#include "http/http.h"

#include "http/microhttpd_library.h"
#include "agent/settings.h"
#include "util/buffer.h"
#include "util/number.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTION_BYTES = 16 * 1024 };

enum state { QUEUED, TAKEN, ANSWERED };

struct server_request {
    struct server_request *next;
    struct MHD_Connection *connection;
    uint64_t seconds;
    enum state state;
    void *bytes; /* of the answer; NULL: it failed */
    size_t size;
};

struct http_server {
    struct MHD_Daemon *daemon;
    struct server_calls calls;
    int queue_fd; /* a semaphore: as many as are queued */
    pthread_mutex_t lock;
    struct server_request *requests; /* newest first */
    size_t request_count;
    bool closing;
};

/* Set before a server starts. */
static struct microhttpd_library mhd;

/* A connection whose request was seen, but needs no state. */
static char seen;

static const char text_type[] = "text/plain; charset=utf-8";
static const char metrics_type[] =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

/* Queue a response; bytes are copied or, with own, freed by it. */
static enum MHD_Result
respond(struct MHD_Connection *connection, unsigned status, const char *type,
        void *bytes, size_t size, bool own)
{
    struct MHD_Response *const response = mhd.create_response_from_buffer(
        size, bytes, own ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result;

    if (response == NULL) {
        if (own) {
            free(bytes);
        }
        return MHD_NO;
    }
    (void)mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    (void)mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)mhd.add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    result = mhd.queue_response(connection, status, response);
    mhd.destroy_response(response);
    return result;
}

static enum MHD_Result
respond_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
    return respond(connection, status, text_type, (void *)(uintptr_t)text, strlen(text),
                   false);
}

static enum MHD_Result
respond_metrics(const struct http_server *server, struct MHD_Connection *connection)
{
    struct buffer text = {0};

    server->calls.print_metrics(server->calls.context, &text);
    if (text.failed) {
        buffer_finish(&text);
        return respond_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
                            "out of memory\n");
    }
    return respond(connection, MHD_HTTP_OK, metrics_type, text.data, text.size, true);
}

/* ---- profiles ---- */

/* Parse ?seconds=N. */
static bool
parse_seconds(struct MHD_Connection *connection, uint64_t *seconds)
{
    const char *const text =
        mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "seconds");

    *seconds = SERVER_SECONDS_DEFAULT;
    return text == NULL || (number_parse_count(text, seconds) && *seconds >= 1 &&
                            *seconds <= SERVER_SECONDS_MAX);
}

/* Queue a request and suspend its connection. Returns false if there are too many. */
static bool
queue_request(struct http_server *server, struct MHD_Connection *connection,
              uint64_t seconds, void **context)
{
    const uint64_t one = 1;
    struct server_request *const request = calloc(1, sizeof(*request));
    bool queued;

    pthread_mutex_lock(&server->lock);
    queued = request != NULL && !server->closing &&
             server->request_count < SERVER_PROFILES_MAX;
    if (queued) {
        *request = (struct server_request){.next = server->requests,
                                           .connection = connection,
                                           .seconds = seconds,
                                           .state = QUEUED};
        server->requests = request;
        server->request_count++;
        *context = request;
        mhd.suspend_connection(connection);
        (void)!write(server->queue_fd, &one, sizeof(one));
    }
    pthread_mutex_unlock(&server->lock);
    if (!queued) {
        free(request);
    }
    return queued;
}

static enum MHD_Result
start_profile(struct http_server *server, struct MHD_Connection *connection,
              void **context)
{
    uint64_t seconds;

    if (!parse_seconds(connection, &seconds)) {
        return respond_text(connection, MHD_HTTP_BAD_REQUEST,
                            "seconds must be a number from 1 to 300\n");
    }
    if (!queue_request(server, connection, seconds, context)) {
        return respond_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                            "too many profiles are being made; try again later\n");
    }
    return MHD_YES;
}

static enum MHD_Result
finish_profile(struct http_server *server, struct server_request *request)
{
    void *bytes;
    size_t size;
    bool answered;

    pthread_mutex_lock(&server->lock);
    answered = request->state == ANSWERED;
    bytes = request->bytes;
    size = request->size;
    request->bytes = NULL;
    pthread_mutex_unlock(&server->lock);
    if (!answered) {
        return MHD_YES; /* it is still suspended */
    }
    if (bytes == NULL) {
        return respond_text(
            request->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
            "no profile could be made: the agent ends, its interval changed, or memory "
            "ran out; try again\n");
    }
    return respond(request->connection, MHD_HTTP_OK, "application/octet-stream", bytes,
                   size, true);
}

/* ---- the daemon ---- */

static enum MHD_Result
answer(void *argument, struct MHD_Connection *connection, const char *url,
       const char *method, const char *version, const char *upload, size_t *upload_size,
       void **context)
{
    struct http_server *const server = argument;

    (void)version;
    (void)upload;
    if (*context != NULL && *context != &seen) {
        return finish_profile(server, *context);
    }
    if (*context == NULL) {
        *context = &seen; /* the next call comes after the headers */
        return MHD_YES;
    }
    if (*upload_size != 0 || (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
                              strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)) {
        /* What was sent is not read: libmicrohttpd closes the connection. */
        return *upload_size != 0 ? MHD_NO
                                 : respond_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
                                                "only GET is answered\n");
    }
    if (strcmp(url, "/debug/pprof/profile") == 0) {
        return start_profile(server, connection, context);
    }
    if (strcmp(url, "/metrics") == 0) {
        return respond_metrics(server, connection);
    }
    if (strcmp(url, "/healthz") == 0) {
        const bool healthy = server->calls.is_healthy(server->calls.context);

        return respond_text(connection,
                            healthy ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                            healthy ? "ok\n" : "no window ended in time\n");
    }
    return respond_text(connection, MHD_HTTP_NOT_FOUND,
                        "there are /debug/pprof/profile?seconds=N, /metrics and "
                        "/healthz\n");
}

static void
complete(void *argument, struct MHD_Connection *connection, void **context,
         enum MHD_RequestTerminationCode code)
{
    struct http_server *const server = argument;
    struct server_request **next = &server->requests;
    struct server_request *const request = *context;

    (void)connection;
    (void)code;
    if (request == NULL || *context == &seen) {
        return;
    }
    pthread_mutex_lock(&server->lock);
    while (*next != request) {
        next = &(*next)->next;
    }
    *next = request->next;
    server->request_count--;
    pthread_mutex_unlock(&server->lock);
    free(request->bytes);
    free(request);
    *context = NULL;
}

static struct MHD_Daemon *
start_daemon(struct http_server *server, const struct agent_settings *settings)
{
    const struct sockaddr *const address = (const struct sockaddr *)&settings->address;
    const unsigned v6 = address->sa_family == AF_INET6 ? MHD_USE_IPv6 : 0u;
    struct MHD_Daemon *daemon;
    sigset_t all;
    sigset_t old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    /* By poll: select knows no descriptors above 1023, which events of a large machine
     * have used. Without MHD_OPTION_LISTENING_ADDRESS_REUSE, which sets SO_REUSEPORT: a
     * second agent would be given half of the connections. */
    daemon = mhd.start_daemon(
        MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME | v6,
        0, NULL, NULL, answer, server, MHD_OPTION_SOCK_ADDR, address,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVER_CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SERVER_TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
        MHD_OPTION_NOTIFY_COMPLETED, complete, server, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return daemon;
}

struct http_server *
http_server_start(const struct agent_settings *settings,
                  const struct server_calls *calls, char *why, size_t size)
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
    server->calls = *calls;
    pthread_mutex_init(&server->lock, NULL);
    server->queue_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    errno = 0;
    server->daemon = server->queue_fd >= 0 ? start_daemon(server, settings) : NULL;
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
    for (struct server_request *request = server->requests; request != NULL;
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

struct server_request *
http_server_take(struct http_server *server, uint64_t *seconds)
{
    struct server_request *oldest = NULL;
    uint64_t one;

    if (server == NULL || read(server->queue_fd, &one, sizeof(one)) < 0) {
        return NULL;
    }
    pthread_mutex_lock(&server->lock);
    for (struct server_request *request = server->requests; request != NULL;
         request = request->next) {
        if (request->state == QUEUED) {
            oldest = request;
        }
    }
    if (oldest != NULL) {
        oldest->state = TAKEN;
        *seconds = oldest->seconds;
    }
    pthread_mutex_unlock(&server->lock);
    return oldest;
}

void
http_server_answer(struct http_server *server, struct server_request *request,
                   void *bytes, size_t size)
{
    pthread_mutex_lock(&server->lock);
    request->bytes = bytes;
    request->size = size;
    request->state = ANSWERED;
    mhd.resume_connection(request->connection);
    pthread_mutex_unlock(&server->lock);
}
