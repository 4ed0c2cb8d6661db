/* SPDX-License-Identifier: MIT */
/* stack_socket.c - listens for rings. */
#include "record/collect/stack_socket.h"

#include "base/time_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Processes that connect between two looks; Linux's own default. */
enum { BACKLOG = 4096 };

/* Descriptors that a process may send at once; more are not received. */
enum { DESCRIPTORS_MAX = 4 };

/* Make a private folder in place, which may be NULL, and open it; path becomes its
 * name, which the caller removes. Returns -1 and sets errno if that fails. */
static int
open_folder(const char *place, char *path, size_t size)
{
    int folder;
    int error;

    if (place == NULL || snprintf(path, size, "%s/ntprof-XXXXXX", place) >= (int)size) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (mkdtemp(path) == NULL) {
        return -1;
    }
    folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        error = errno;
        (void)rmdir(path);
        errno = error;
    }
    return folder;
}

/* Bind the socket in an open folder, open what it is bound to, and remove that. Returns
 * 0 or a negative errno. */
static int
bind_in(struct stack_socket *socket, int folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int failure = 0;
    int low;

    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/s", folder);
    if (bind(socket->listening, (const struct sockaddr *)&address, sizeof(address)) <
        0) {
        return -errno;
    }
    /* Nobody else connects, whatever the umask is. */
    if (fchmodat(folder, "s", 0600, 0) < 0) {
        failure = -errno;
    }
    low = openat(folder, "s", O_PATH | O_NOFOLLOW | O_CLOEXEC);
    /* Not one of the standard streams, which may be closed. */
    socket->place = low >= 0 ? fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
    if (socket->place < 0) {
        failure = -errno;
    }
    if (low >= 0) {
        (void)close(low);
    }
    (void)unlinkat(folder, "s", 0);
    return failure;
}

/* Try to bind the socket in a new folder at a place. Returns 0 or a negative errno. */
static int
bind_at(struct stack_socket *socket, const char *place)
{
    char path[4096];
    const int folder = open_folder(place, path, sizeof(path));
    int failure;

    if (folder < 0) {
        return -errno;
    }
    failure = bind_in(socket, folder);
    (void)close(folder);
    (void)rmdir(path);
    return failure;
}

int
stack_socket_open(struct stack_socket *opened)
{
    const char *const places[] = {getenv("TMPDIR"), "/tmp", "/dev/shm"};
    int failure = -ENOENT;

    *opened = (struct stack_socket){
        .listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
        .place = -1};
    if (opened->listening < 0) {
        return -errno;
    }
    for (size_t i = 0; failure != 0 && i < sizeof(places) / sizeof(places[0]); i++) {
        failure = bind_at(opened, places[i]);
    }
    if (failure == 0 && listen(opened->listening, BACKLOG) < 0) {
        failure = -errno;
    }
    if (failure != 0) {
        stack_socket_close(opened);
    }
    return failure;
}

void
stack_socket_close(struct stack_socket *socket)
{
    if (socket->listening >= 0) {
        (void)close(socket->listening);
    }
    if (socket->place >= 0) {
        (void)close(socket->place);
    }
    *socket = (struct stack_socket){-1, -1};
}

/* As no file system has it for a device. */
#define DROP_KEY (UINT64_MAX - 1)

void
stack_socket_drop(int fd)
{
    time_limit_close(DROP_KEY, fd);
}

/* Find out why Linux did not give this process a descriptor that was sent: for the want
 * of a number for it, or because a security module refused it. */
static int
explain_none(int connected)
{
    const int copy = fcntl(connected, F_DUPFD_CLOEXEC, 0);

    if (copy < 0) {
        return -EMFILE;
    }
    (void)close(copy);
    return -EACCES;
}

/* Receive one descriptor. Returns it, or as stack_socket_take; -1 also for more than
 * one. */
static int
receive(int connected)
{
    char byte;
    struct iovec data = {&byte, 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    int fds[DESCRIPTORS_MAX];
    const struct cmsghdr *header;
    size_t count;

    if (recvmsg(connected, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0) {
        return -1;
    }
    header = CMSG_FIRSTHDR(&message);
    if (header == NULL && (message.msg_flags & MSG_CTRUNC) != 0) {
        return explain_none(connected);
    }
    if (header == NULL || header->cmsg_level != SOL_SOCKET ||
        header->cmsg_type != SCM_RIGHTS) {
        return -1;
    }
    count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(fds, CMSG_DATA(header), count * sizeof(int));
    if (count == 1) {
        return fds[0];
    }
    for (size_t i = 0; i < count; i++) {
        stack_socket_drop(fds[i]);
    }
    return -1;
}

/* taking - a connection that is taken in limited time. What a program has sent and
 * nobody receives may be of any file, as a TCP socket that lingers: recvmsg and close
 * then return as late as the program likes. */
struct taking {
    int connected; /* -1: it is closed */
    int fd;        /* as receive returns it */
};

/* The work of time_limit_run. */
static void
taking_work(void *argument)
{
    struct taking *const taking = argument;

    taking->fd = receive(taking->connected);
    (void)close(taking->connected);
    taking->connected = -1;
}

/* The drop of time_limit_run: close what nobody waits for any more. */
static void
taking_drop(void *argument)
{
    struct taking *const taking = argument;

    if (taking->connected >= 0) {
        stack_socket_drop(taking->connected);
    }
    if (taking->fd >= 0) {
        stack_socket_drop(taking->fd);
    }
    free(taking);
}

/* Receive the descriptor of a connection of a process, and close the connection.
 * Returns as receive does; -1 also if that takes too long. */
static int
take_connected(int connected, uint32_t pid)
{
    struct taking *const taking = malloc(sizeof(*taking));
    int fd;

    if (taking == NULL) {
        stack_socket_drop(connected);
        return -1;
    }
    *taking = (struct taking){connected, -1};
    /* A key of its own: no process keeps others from handing over theirs. */
    if (time_limit_run(DROP_KEY - 1 - pid, taking_work, taking_drop, taking) != 0) {
        return -1;
    }
    fd = taking->fd;
    free(taking);
    return fd;
}

bool
stack_socket_take(const struct stack_socket *socket, int *fd, uint32_t *pid)
{
    const int connected = accept4(socket->listening, NULL, NULL, SOCK_CLOEXEC);
    struct ucred peer = {0};
    socklen_t length = sizeof(peer);

    if (connected < 0) {
        return false;
    }
    if (getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) {
        peer.pid = 0;
    }
    *pid = peer.pid > 0 ? (uint32_t)peer.pid : 0;
    *fd = take_connected(connected, *pid);
    return true;
}
