/* SPDX-License-Identifier: MIT */
/*
 * microhttpd.c - the server, by libmicrohttpd and one thread of it, and a thread
 * that looks every second for clients that are slow or gone.
 *
 * A connection: HEAD (until its only request is complete) -> WAIT (queued) -> SEND. It
 * is closed then: a client that asks again and again would keep its place for ever.
 *
 * Invariants, with the mutex held: a request that was queued is in requests until its
 * completion. It is suspended while its state is QUEUED or TAKEN, and only
 * server_answer, server_stop and, if it is queued and its client is gone, the
 * second thread resume it. A connection is in connections, with a descriptor that is
 * open, from its first notification to its last.
 */
#include "http/module.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/module_interface.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTION_BYTES = 16 * 1024, RECEIVED_BYTES_MAX = 256 * 1024 };

enum state { NEW, QUEUED, TAKEN, ANSWERED };

enum phase { HEAD, WAIT, SEND };

struct connection {
    struct connection *next; /* in connections */
    int fd;
    enum phase phase;
    uint64_t since_ns;  /* of the phase */
    uint64_t closed_ns; /* when its client was seen to send no more; 0: it may */
};

struct http_request {
    struct http_request *next; /* in requests */
    struct connection *of;     /* NULL: its connection is not watched */
    bool gone;                 /* its client has gone */
    struct MHD_Connection *connection;
    char *path;
    struct buffer arguments; /* names and values, each with its NUL */
    size_t argument_count;
    bool has_nul; /* in an argument, which would end there */
    enum state state;
    size_t received_bytes;     /* of a body, which is ignored */
    struct http_answer answer; /* all zero: the server ends, or the client has gone */
};

struct http_server {
    struct MHD_Daemon *daemon;
    struct http_settings settings;
    int queue_fd; /* readable if a request may be queued, or the client of a taken one
                   * may be gone */
    pthread_mutex_t lock;
    struct http_request *requests; /* newest first */
    size_t request_count;
    struct connection *connections;
    bool closing;
    pthread_t watcher;
    bool watching;
    pthread_cond_t wake; /* signalled to the watcher: there is a connection, or closing
                          * is set */
};

/* Send an answer, whose bytes are taken over. */
static enum MHD_Result
respond(struct MHD_Connection *connection, const struct http_answer *answer)
{
    struct MHD_Response *const response = MHD_create_response_from_buffer(
        answer->size, answer->bytes, MHD_RESPMEM_MUST_FREE);
    enum MHD_Result result;

    if (response == NULL) {
        free(answer->bytes);
        return MHD_NO;
    }
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    (void)MHD_add_response_header(response, "Cross-Origin-Resource-Policy",
                                  "same-origin");
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (answer->policy != NULL) {
        (void)MHD_add_response_header(response, "Content-Security-Policy",
                                      answer->policy);
    }
    result = MHD_queue_response(connection, answer->status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result
respond_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
    struct http_answer answer;

    http_text(&answer, status, text);
    return respond(connection, &answer);
}

/* ---- connections ---- */

/* Return our record of a libmicrohttpd's connection; NULL if it is not watched. */
static struct connection *
connection_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info != NULL ? info->socket_context : NULL;
}

/* Note in which phase a connection is from now on. NULL: it is not watched. Called with
 * the mutex held, or on libmicrohttpd's thread before the connection is in the list. */
static void
begin_phase(struct connection *connection, enum phase phase)
{
    if (connection != NULL) {
        connection->phase = phase;
        connection->since_ns = clock_now_ns();
        connection->closed_ns = 0;
    }
}

/* Call begin_phase with the mutex held. */
static void
enter_phase(struct http_server *server, struct connection *connection, enum phase phase)
{
    pthread_mutex_lock(&server->lock);
    begin_phase(connection, phase);
    pthread_mutex_unlock(&server->lock);
}

/* Have a new connection watched; *context is our record of it. If memory runs out it is
 * NULL, and the connection is served without being watched. */
static void
add_connection(struct http_server *server, struct MHD_Connection *mhd_connection,
               void **context)
{
    const union MHD_ConnectionInfo *const info =
        MHD_get_connection_info(mhd_connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct connection *const connection = calloc(1, sizeof(*connection));

    *context = connection;
    if (connection == NULL || info == NULL) {
        free(connection);
        *context = NULL;
        return;
    }
    connection->fd = info->connect_fd;
    begin_phase(connection, HEAD);
    pthread_mutex_lock(&server->lock);
    connection->next = server->connections;
    server->connections = connection;
    pthread_cond_signal(&server->wake);
    pthread_mutex_unlock(&server->lock);
}

static void
remove_connection(struct http_server *server, struct connection *connection)
{
    struct connection **next = &server->connections;

    if (connection == NULL) {
        return;
    }
    pthread_mutex_lock(&server->lock);
    while (*next != connection) {
        next = &(*next)->next;
    }
    *next = connection->next;
    pthread_mutex_unlock(&server->lock);
    free(connection);
}

/* Libmicrohttpd calls this when a connection begins and when it ends. */
static void
on_connection(void *argument, struct MHD_Connection *connection, void **context,
              enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        add_connection(argument, connection, context);
    } else {
        remove_connection(argument, *context);
        *context = NULL;
    }
}

/* Return whether a client has gone: it has reset the connection, or has sent nothing
 * more for HTTP_CLOSED_S since it closed its side. The mutex is held. */
static bool
is_gone(struct connection *connection, uint64_t now_ns)
{
    struct pollfd place = {.fd = connection->fd, .events = POLLRDHUP};

    if (poll(&place, 1, 0) <= 0) {
        return false;
    }
    if ((place.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
        return true;
    }
    if (connection->closed_ns == 0) {
        connection->closed_ns = now_ns;
    }
    return now_ns - connection->closed_ns >= HTTP_CLOSED_S * CLOCK_SECOND_NS;
}

/* Shut connections down whose phase has lasted too long: libmicrohttpd sees the end and
 * closes them. The mutex is held. */
static void
bound_connections(struct http_server *server, uint64_t now_ns)
{
    static const uint64_t most_ns[] = {[HEAD] = HTTP_HEAD_S * CLOCK_SECOND_NS,
                                       [WAIT] = UINT64_MAX,
                                       [SEND] = HTTP_SEND_S * CLOCK_SECOND_NS};

    for (struct connection *each = server->connections; each != NULL;
         each = each->next) {
        if (now_ns - each->since_ns >= most_ns[each->phase]) {
            (void)shutdown(each->fd, SHUT_RDWR);
        }
    }
}

/* Note which clients have gone. Their queued requests count as answered, and for one
 * that was taken queue_fd wakes the thread that took it. The mutex is held. */
static void
drop_gone(struct http_server *server, uint64_t now_ns)
{
    const uint64_t one = 1;

    for (struct http_request *each = server->requests; each != NULL;
         each = each->next) {
        if (each->gone || each->of == NULL || each->state == ANSWERED ||
            !is_gone(each->of, now_ns)) {
            continue;
        }
        each->gone = true;
        if (each->state == QUEUED) {
            each->state = ANSWERED;
            MHD_resume_connection(each->connection);
        } else {
            (void)!write(server->queue_fd, &one, sizeof(one));
        }
    }
}

/* The second thread: every second it ends slow connections and notes which clients have
 * gone. Without connections it sleeps. */
static void *
watch_clients(void *argument)
{
    struct http_server *const server = argument;

    pthread_setname_np(pthread_self(), "ntprof-clients");
    pthread_mutex_lock(&server->lock);
    while (!server->closing) {
        const uint64_t now_ns = clock_now_ns();
        const struct timespec until = clock_timespec(now_ns + CLOCK_SECOND_NS);

        bound_connections(server, now_ns);
        drop_gone(server, now_ns);
        if (server->connections == NULL) {
            pthread_cond_wait(&server->wake, &server->lock);
        } else {
            (void)pthread_cond_timedwait(&server->wake, &server->lock, &until);
        }
    }
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

/* ---- requests ---- */

/* Append an argument of a URL to the request's, name and value each with its NUL; for
 * MHD_get_connection_values_n. */
static enum MHD_Result
keep_argument(void *context, enum MHD_ValueKind kind, const char *name,
              size_t name_size, const char *value, size_t value_size)
{
    struct http_request *const request = context;

    (void)kind;
    request->has_nul |= memchr(name, '\0', name_size) != NULL ||
                        (value != NULL && memchr(value, '\0', value_size) != NULL);
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

/* Return a request with copies of its path and arguments; NULL if memory runs out. */
static struct http_request *
request_new(struct MHD_Connection *connection, const char *path)
{
    struct http_request *const request = calloc(1, sizeof(*request));

    if (request == NULL) {
        return NULL;
    }
    request->connection = connection;
    request->of = connection_of(connection);
    request->path = strdup(path);
    (void)MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, keep_argument,
                                      request);
    if (request->path == NULL || request->arguments.failed) {
        request_delete(request);
        return NULL;
    }
    return request;
}

static const char *
request_path(const struct http_request *request)
{
    return request->path;
}

static bool
request_argument_at(const struct http_request *request, size_t index, const char **name,
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

static const char *
request_argument(const struct http_request *request, const char *name)
{
    const char *known;
    const char *value;

    for (size_t i = 0; request_argument_at(request, i, &known, &value); i++) {
        if (strcmp(known, name) == 0) {
            return value;
        }
    }
    return NULL;
}

/* ---- the queue ---- */

/* Queue a request and suspend its connection. Returns false if too many are queued, or
 * the server ends. */
static bool
queue_request(struct http_server *server, struct http_request *request)
{
    const uint64_t one = 1;
    bool queued;

    pthread_mutex_lock(&server->lock);
    queued = !server->closing && server->request_count < server->settings.queue_max;
    if (queued) {
        request->state = QUEUED;
        begin_phase(request->of, WAIT);
        request->next = server->requests;
        server->requests = request;
        server->request_count++;
        MHD_suspend_connection(request->connection);
        (void)!write(server->queue_fd, &one, sizeof(one));
    }
    pthread_mutex_unlock(&server->lock);
    return queued;
}

/* Send what a request that was queued was answered, when its connection was resumed. */
static enum MHD_Result
finish_request(struct http_server *server, struct http_request *request)
{
    struct http_answer answer;
    bool answered;

    pthread_mutex_lock(&server->lock);
    answered = request->state == ANSWERED;
    answer = request->answer;
    request->answer.bytes = NULL;
    if (answered) {
        begin_phase(request->of, SEND);
    }
    pthread_mutex_unlock(&server->lock);
    if (!answered) {
        return MHD_YES; /* it is still suspended */
    }
    if (answer.status == 0) {
        return respond_text(request->connection, HTTP_UNAVAILABLE,
                            request->gone ? "the client ended its side\n"
                                          : "ntprof ends; try again later\n");
    }
    return respond(request->connection, &answer);
}

/* ---- the daemon ---- */

/* Keep a header in *context if it is one of http_origin's; for
 * MHD_get_connection_values. */
static enum MHD_Result
take_header(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct http_origin *const origin = context;
    const struct {
        const char *name;
        const char **value;
    } headers[] = {{"Host", &origin->host},
                   {"Origin", &origin->origin},
                   {"Sec-Fetch-Site", &origin->site},
                   {"Sec-Fetch-Mode", &origin->mode},
                   {"Sec-Fetch-Dest", &origin->destination},
                   {"Sec-Fetch-User", &origin->user}};

    (void)kind;
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        if (strcasecmp(name, headers[i].name) == 0) {
            origin->repeated |= *headers[i].value != NULL;
            *headers[i].value = value != NULL ? value : "";
        }
    }
    return MHD_YES;
}

/* Answer a request whose head and body have arrived, or queue it. */
static enum MHD_Result
answer_request(struct http_server *server, struct http_request *request,
               const char *method)
{
    struct MHD_Connection *const connection = request->connection;
    struct http_answer answer = {0};
    struct http_origin origin = {0};
    const char *why;
    unsigned refused;

    enter_phase(server, request->of, SEND);
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
        strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return respond_text(connection, HTTP_NO_METHOD, "only GET is answered\n");
    }
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, take_header, &origin);
    refused = http_refuse_origin(&server->settings, &origin, &why);
    if (refused != 0) {
        return respond_text(connection, refused, why);
    }
    if (request->argument_count > HTTP_ARGUMENTS_MAX) {
        return respond_text(connection, HTTP_BAD_REQUEST, "too many arguments\n");
    }
    if (request->has_nul) {
        return respond_text(connection, HTTP_BAD_REQUEST, "an argument has a NUL\n");
    }
    if (server->settings.answer(server->settings.context, request, &answer)) {
        return respond(connection, &answer);
    }
    return queue_request(server, request) ? MHD_YES
                                          : respond_text(connection, HTTP_UNAVAILABLE,
                                                         server->settings.queue_full);
}

/* Take the next step of a request: libmicrohttpd calls this when its head has arrived,
 * for bytes of a body, when all has arrived, and after a suspended connection was
 * resumed. */
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
        return request != NULL ? MHD_YES : MHD_NO; /* the next call answers */
    }
    if (request->state != NEW) {
        return finish_request(server, request);
    }
    /* A body is of no use, but a client that cannot send all of it does not read the
     * answer, so it is read and thrown away. If it is too long, libmicrohttpd closes
     * the connection (MHD_NO). */
    if (*upload_size != 0) {
        request->received_bytes += *upload_size;
        *upload_size = 0;
        return request->received_bytes <= RECEIVED_BYTES_MAX ? MHD_YES : MHD_NO;
    }
    return answer_request(server, request, method);
}

/* Free a request, whether it was answered or not. */
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
    /* Poll is used because select cannot handle descriptors above 1023, and the events
     * of a large machine use more. MHD_OPTION_LISTENING_ADDRESS_REUSE is not used: it
     * sets SO_REUSEPORT, by which a second server would be given half of the
     * connections. */
    daemon = MHD_start_daemon(
        MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME | v6,
        0, NULL, NULL, on_call, server, MHD_OPTION_SOCK_ADDR, address,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
        MHD_OPTION_NOTIFY_COMPLETED, on_complete, server, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, server, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return daemon;
}

static void
init_locks(struct http_server *server)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&server->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&server->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Start the second thread, with all signals blocked. Returns 0 or an errno. */
static int
start_watcher(struct http_server *server)
{
    sigset_t all;
    sigset_t old;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&server->watcher, NULL, watch_clients, server);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    server->watching = error == 0;
    return error;
}

/* Wait until all answers have reached their clients, for a second at most:
 * MHD_stop_daemon drops those that have not. */
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

static void
server_stop(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->closing = true;
    for (struct http_request *request = server->requests; request != NULL;
         request = request->next) {
        if (request->state != ANSWERED) {
            request->state = ANSWERED;
            MHD_resume_connection(request->connection);
        }
    }
    pthread_cond_signal(&server->wake);
    pthread_mutex_unlock(&server->lock);
    if (server->watching) {
        pthread_join(server->watcher, NULL);
    }
    if (server->daemon != NULL) {
        wait_for_answers(server);
        MHD_stop_daemon(server->daemon);
    }
    if (server->queue_fd >= 0) {
        close(server->queue_fd);
    }
    pthread_cond_destroy(&server->wake);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

static struct http_server *
server_start(const struct http_settings *settings, char *why, size_t size)
{
    struct http_server *const server = calloc(1, sizeof(*server));

    if (server == NULL) {
        snprintf(why, size, "out of memory");
        return NULL;
    }
    server->settings = *settings;
    init_locks(server);
    server->queue_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* 0 if all is well so far: libmicrohttpd may fail without an errno. */
    errno = server->queue_fd >= 0 ? start_watcher(server) : errno;
    server->daemon = errno == 0 ? start_daemon(server) : NULL;
    if (server->daemon == NULL) {
        snprintf(why, size, "%s",
                 errno != 0 ? strerror(errno) : "it cannot be started");
        server_stop(server);
        return NULL;
    }
    return server;
}

static int
server_fd(const struct http_server *server)
{
    return server->queue_fd;
}

/* The list begins with the newest request, so the last queued one is the oldest. */
static struct http_request *
server_take(struct http_server *server)
{
    struct http_request *oldest = NULL;
    uint64_t count;

    pthread_mutex_lock(&server->lock);
    for (struct http_request *request = server->requests; request != NULL;
         request = request->next) {
        if (request->state == QUEUED) {
            oldest = request;
        }
    }
    if (oldest != NULL) {
        oldest->state = TAKEN;
    } else {
        (void)!read(server->queue_fd, &count, sizeof(count));
    }
    pthread_mutex_unlock(&server->lock);
    return oldest;
}

static bool
server_is_gone(struct http_server *server, const struct http_request *request)
{
    bool gone;

    pthread_mutex_lock(&server->lock);
    gone = request->gone;
    pthread_mutex_unlock(&server->lock);
    return gone;
}

static void
server_answer(struct http_server *server, struct http_request *request,
              const struct http_answer *answer)
{
    pthread_mutex_lock(&server->lock);
    request->answer = *answer;
    request->state = ANSWERED;
    MHD_resume_connection(request->connection);
    pthread_mutex_unlock(&server->lock);
}

MODULE_INTERFACE(struct http_module, http) = {
    .start = server_start,
    .stop = server_stop,
    .fd = server_fd,
    .take = server_take,
    .is_gone = server_is_gone,
    .answer = server_answer,
    .path = request_path,
    .argument = request_argument,
    .argument_at = request_argument_at,
};
