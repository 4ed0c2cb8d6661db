/* SPDX-License-Identifier: MIT */
/*
 * pprof_server.c - a server that answers /debug/pprof/profile?seconds=N with a profile
 * of itself, as servers written in Go do:
 *
 *   cc -O2 pprof_server.c -o pprof_server -lmicrohttpd -pthread
 *   ./pprof_server 8080 &
 *   go tool pprof -top 'http://127.0.0.1:8080/debug/pprof/profile?seconds=5'
 *
 *   pprof_server PORT [NTPROF]   0: any free port, which is printed; NTPROF: the
 *                                command, if PATH does not lead to it
 *
 * The profile is made by the command: ntprof attach -p SELF -o -, run for each request.
 * It needs no right that the server has not. Only this machine is served: who can ask
 * for profiles can make the server slower and see its symbols.
 */
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SECONDS_DEFAULT = 30, /* as in Go */
    SECONDS_MAX = 300,
    PROFILE_BYTES_MAX = 64 << 20
};

extern char **environ;

/* One profile at a time: two would only measure each other. */
static pthread_mutex_t profiling = PTHREAD_MUTEX_INITIALIZER;

static volatile uint64_t result;

/* --- what the server does all the time --- */

__attribute__((noinline)) static uint64_t
mix(uint64_t value)
{
    for (int i = 0; i < 100000; i++) {
        value ^= value >> 29;
        value *= 0xBF58476D1CE4E5B9u;
    }
    return value;
}

static void *
work(void *argument)
{
    const struct timespec pause = {.tv_nsec = 100000};

    for (;;) {
        result = mix(result + 1);
        nanosleep(&pause, NULL);
    }
    return argument;
}

/* --- profiles --- */

/* Start the command with its standard output into a pipe. Returns the pipe's other end,
 * or -1. */
static int
start_command(const char *ntprof, unsigned seconds, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    char self[16];
    char duration[16];
    char *words[] = {(char *)(uintptr_t)ntprof,
                     "attach",
                     "-q",
                     "-p",
                     self,
                     "-o",
                     "-",
                     "--duration",
                     duration,
                     NULL};
    int ends[2];
    int failure;

    snprintf(self, sizeof(self), "%d", (int)getpid());
    snprintf(duration, sizeof(duration), "%us", seconds);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    sigemptyset(&none); /* signals that the server waits for shall end the command */
    failure = posix_spawn_file_actions_init(&actions);
    if (failure == 0) {
        posix_spawnattr_init(&attributes); /* cannot fail on Linux */
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        failure = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        if (failure == 0) {
            failure = posix_spawnp(pid, ntprof, &actions, &attributes, words, environ);
        }
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (failure != 0) {
        close(ends[0]);
        errno = failure;
        return -1;
    }
    return ends[0];
}

/* Read all of it. Returns false if it is too long, or memory runs out. */
static bool
read_all(int fd, char **bytes, size_t *size)
{
    size_t room = 0;
    ssize_t got = 1;

    *bytes = NULL;
    *size = 0;
    while (got > 0) {
        if (*size == room) {
            char *larger;

            room = room == 0 ? 1 << 16 : room * 2;
            larger = room <= PROFILE_BYTES_MAX ? realloc(*bytes, room) : NULL;
            if (larger == NULL) {
                return false;
            }
            *bytes = larger;
        }
        do {
            got = read(fd, *bytes + *size, room - *size);
        } while (got < 0 && errno == EINTR);
        *size += got > 0 ? (size_t)got : 0;
    }
    return got == 0;
}

/* Make a profile of that many seconds. Returns false if there is none; the command has
 * said on standard error why. */
static bool
make_profile(const char *ntprof, unsigned seconds, char **bytes, size_t *size)
{
    int status = 1;
    pid_t pid;
    const int fd = start_command(ntprof, seconds, &pid);
    bool whole;

    *bytes = NULL;
    if (fd < 0) {
        fprintf(stderr, "pprof_server: %s: %s\n", ntprof, strerror(errno));
        return false;
    }
    whole = read_all(fd, bytes, size);
    close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return whole && status == 0;
}

/* --- HTTP --- */

/* Queue an answer; it owns bytes, which malloc gave. */
static enum MHD_Result
answer(struct MHD_Connection *connection, unsigned status, const char *type,
       char *bytes, size_t size)
{
    struct MHD_Response *const response =
        MHD_create_response_from_buffer(size, bytes, MHD_RESPMEM_MUST_FREE);
    enum MHD_Result queued = MHD_NO;

    if (response == NULL) {
        free(bytes);
        return MHD_NO;
    }
    if (MHD_add_response_header(response, "Content-Type", type) == MHD_YES) {
        queued = MHD_queue_response(connection, status, response);
    }
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result
answer_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
    char *const copy = strdup(text);

    return copy == NULL ? MHD_NO
                        : answer(connection, status, "text/plain", copy, strlen(copy));
}

/* Return the value of ?seconds=, or 0 if it is none from 1 to SECONDS_MAX. */
static unsigned
seconds_of(struct MHD_Connection *connection)
{
    const char *const text =
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "seconds");
    char *end;
    long seconds;

    if (text == NULL) {
        return SECONDS_DEFAULT;
    }
    seconds = strtol(text, &end, 10);
    return end == text || *end != '\0' || seconds < 1 || seconds > SECONDS_MAX
               ? 0
               : (unsigned)seconds;
}

static enum MHD_Result
answer_profile(struct MHD_Connection *connection, const char *ntprof)
{
    const unsigned seconds = seconds_of(connection);
    size_t size;
    char *bytes;
    bool made;

    if (seconds == 0) {
        return answer_text(connection, MHD_HTTP_BAD_REQUEST, "seconds: 1 to 300\n");
    }
    if (pthread_mutex_trylock(&profiling) != 0) {
        return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                           "another profile is being made: try again\n");
    }
    made = make_profile(ntprof, seconds, &bytes, &size);
    pthread_mutex_unlock(&profiling);
    if (!made) {
        free(bytes);
        return answer_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
                           "no profile: see the server's standard error\n");
    }
    return answer(connection, MHD_HTTP_OK, "application/octet-stream", bytes, size);
}

static enum MHD_Result
handle(void *context, struct MHD_Connection *connection, const char *path,
       const char *method, const char *version, const char *upload, size_t *upload_size,
       void **state)
{
    (void)version;
    (void)upload;
    (void)upload_size;
    (void)state;
    if (strcmp(method, "GET") != 0) {
        return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
    }
    if (strcmp(path, "/debug/pprof/profile") == 0) {
        return answer_profile(connection, context);
    }
    return answer_text(connection, MHD_HTTP_NOT_FOUND, "/debug/pprof/profile\n");
}

/* Serve until SIGINT or SIGTERM. */
static int
serve(uint16_t port, const char *ntprof)
{
    const struct sockaddr_in here = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    struct MHD_Daemon *daemon;
    pthread_t worker;
    sigset_t ends;
    int signal;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* in all threads; the last line waits */
    daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, port, NULL,
        NULL, handle, (void *)(uintptr_t)ntprof, MHD_OPTION_SOCK_ADDR,
        (const struct sockaddr *)&here, MHD_OPTION_END);
    if (daemon == NULL || pthread_create(&worker, NULL, work, NULL) != 0) {
        fprintf(stderr, "pprof_server: cannot serve on port %u: %s\n", port,
                strerror(errno));
        return 1;
    }
    printf("http://127.0.0.1:%u/debug/pprof/profile\n",
           MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    sigwait(&ends, &signal);
    MHD_stop_daemon(daemon);
    return 0;
}

int
main(int argc, char **argv)
{
    char *end;
    long port;

    if (argc < 2 || argc > 3) {
        fputs("usage: pprof_server PORT [NTPROF]\n", stderr);
        return 2;
    }
    port = strtol(argv[1], &end, 10);
    if (end == argv[1] || *end != '\0' || port < 0 || port > UINT16_MAX) {
        fputs("pprof_server: PORT: 0 to 65535\n", stderr);
        return 2;
    }
    return serve((uint16_t)port, argc > 2 ? argv[2] : "ntprof");
}
