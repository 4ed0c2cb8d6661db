/* SPDX-License-Identifier: MIT */
/* wire.c - buffers both directions over one socket, and passes descriptors along. */
#include "sandbox/wire.h"

#include "base/array.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes that are sent, and received, at once. */
enum { STEP_BYTES = 64 * 1024 };

/* An estimate of the memory for a name beside its characters. */
enum { NAME_OVERHEAD_BYTES = 32 };

void
wire_init(struct wire *wire, int fd, wire_wait *wait, void *context)
{
    *wire = (struct wire){.fd = fd, .wait = wait, .context = context, .passed = -1};
}

void
wire_finish(struct wire *wire)
{
    if (wire->passed >= 0) {
        close(wire->passed);
    }
    buffer_finish(&wire->out);
    buffer_finish(&wire->in);
    buffer_finish(&wire->text);
    wire->passed = -1;
    wire->failed = true;
}

/* --- sending --- */

/* control - room for one descriptor. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

/* Attach a descriptor to a message. */
static void
attach(struct msghdr *message, union control *control, int fd)
{
    struct cmsghdr *header;

    memset(control, 0, sizeof(*control));
    message->msg_control = control->bytes;
    message->msg_controllen = sizeof(control->bytes);
    header = CMSG_FIRSTHDR(message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
}

/* Whether the call that failed with errno is to be repeated: after EINTR, or after
 * EAGAIN when the socket has become ready. */
static bool
goes_on(const struct wire *wire, short events)
{
    if (errno == EINTR) {
        return true;
    }
    return errno == EAGAIN && wire->wait != NULL &&
           wire->wait(wire->context, wire->fd, events);
}

void
wire_send(struct wire *wire, int fd)
{
    const int flags = MSG_NOSIGNAL | (wire->wait != NULL ? MSG_DONTWAIT : 0);
    size_t at = 0;

    wire->failed |= wire->out.failed;
    while (!wire->failed && at < wire->out.size) {
        struct iovec part = {wire->out.data + at, wire->out.size - at};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        union control control;
        ssize_t sent;

        if (fd >= 0) {
            attach(&message, &control, fd);
        }
        sent = sendmsg(wire->fd, &message, flags);
        if (sent > 0) {
            at += (size_t)sent;
            fd = -1;
        } else if (!goes_on(wire, POLLOUT)) {
            wire->failed = true;
        }
    }
    wire->out.size = 0;
}

void
wire_put_bytes(struct wire *wire, const void *bytes, size_t size)
{
    if (wire->failed) {
        return;
    }
    wire_put(wire, size);
    buffer_append(&wire->out, bytes, size);
}

void
wire_put(struct wire *wire, uint64_t number)
{
    if (wire->failed) {
        return;
    }
    if (wire->out.size >= STEP_BYTES) {
        wire_send(wire, -1);
    }
    buffer_append(&wire->out, &number, sizeof(number));
}

void
wire_put_text(struct wire *wire, const char *text)
{
    wire_put_bytes(wire, text, strlen(text));
}

/* --- receiving --- */

/* Keep a descriptor that came with a message, in place of one that nobody took. */
static void
keep_passed(struct wire *wire, struct msghdr *message)
{
    struct cmsghdr *const header = CMSG_FIRSTHDR(message);

    if (header != NULL && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int))) {
        if (wire->passed >= 0) {
            close(wire->passed);
        }
        memcpy(&wire->passed, CMSG_DATA(header), sizeof(int));
    }
}

/* Receive more bytes, behind those that are there. On failure the wire has failed. */
static void
receive(struct wire *wire)
{
    uint8_t *const room = buffer_reserve(&wire->in, STEP_BYTES);
    struct iovec part = {room, STEP_BYTES};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    union control control;
    ssize_t got = -1;

    wire->failed |= room == NULL;
    while (!wire->failed && got < 0) {
        /* The command takes no descriptors: the kernel drops them. */
        message.msg_control = wire->wait == NULL ? control.bytes : NULL;
        message.msg_controllen = wire->wait == NULL ? sizeof(control.bytes) : 0;
        got = recvmsg(wire->fd, &message,
                      MSG_CMSG_CLOEXEC | (wire->wait != NULL ? MSG_DONTWAIT : 0));
        wire->failed |= got == 0 || (got < 0 && !goes_on(wire, POLLIN));
    }
    if (!wire->failed) {
        wire->in.size += (size_t)got;
        wire->received_bytes += (uint64_t)got;
        keep_passed(wire, &message);
    }
}

/* Return the next size bytes, which are received if they are not there yet, or NULL
 * after a failure. Valid until the next call. */
static const uint8_t *
take_bytes(struct wire *wire, size_t size)
{
    const uint8_t *bytes;

    if (wire->in_at == wire->in.size) {
        wire->in_at = wire->in.size = 0;
    } else if (wire->in.size - wire->in_at < size && wire->in_at > 0) {
        memmove(wire->in.data, wire->in.data + wire->in_at,
                wire->in.size - wire->in_at);
        wire->in.size -= wire->in_at;
        wire->in_at = 0;
    }
    while (!wire->failed && wire->in.size - wire->in_at < size) {
        receive(wire);
    }
    if (wire->failed) {
        return NULL;
    }
    bytes = wire->in.data + wire->in_at;
    wire->in_at += size;
    return bytes;
}

bool
wire_has_more(const struct wire *wire)
{
    return wire->in_at < wire->in.size;
}

uint64_t
wire_get(struct wire *wire)
{
    uint64_t number = 0;
    const uint8_t *const bytes = take_bytes(wire, sizeof(number));

    if (bytes != NULL) {
        memcpy(&number, bytes, sizeof(number));
    }
    return number;
}

uint64_t
wire_get_most(struct wire *wire, uint64_t most)
{
    const uint64_t number = wire_get(wire);

    if (number > most) {
        wire->failed = true;
        return 0;
    }
    return number;
}

const void *
wire_get_bytes(struct wire *wire, size_t most, size_t *size)
{
    *size = (size_t)wire_get_most(wire, most);
    return take_bytes(wire, *size);
}

const char *
wire_get_text(struct wire *wire, size_t most)
{
    size_t size;
    const void *const bytes = wire_get_bytes(wire, most, &size);

    if (bytes == NULL || memchr(bytes, '\0', size) != NULL) {
        wire->failed = true;
        return "";
    }
    wire->text.size = 0;
    buffer_append(&wire->text, bytes, size);
    if (buffer_text(&wire->text) == NULL) {
        wire->failed = true;
        return "";
    }
    return buffer_text(&wire->text);
}

/* --- names --- */

void
wire_put_name(struct wire *wire, struct string_set *sent, const char *text)
{
    const size_t known = sent->count;
    const size_t size = text == NULL ? 0 : strlen(text);
    uint32_t number;

    if (size == 0) {
        wire_put(wire, 0);
        return;
    }
    number = string_set_add(sent, text, size);
    wire->failed |= number == HASH_INDEX_NONE;
    wire_put(wire, (uint64_t)number + 1);
    if (sent->count > known) {
        wire_put_bytes(wire, text, size);
    }
}

/* Receive the text of a new name, and add it. Returns false on failure. */
static bool
keep_name(struct wire *wire, struct wire_names *names, size_t most)
{
    const char *const text =
        wire_get_text(wire, most < names->bytes_left ? most : names->bytes_left);
    const char **const larger =
        array_grow(names->texts, names->count, &names->room, sizeof(*larger));
    uint64_t bytes;
    char *copy;

    if (larger == NULL) {
        return false;
    }
    names->texts = larger;
    bytes = strlen(text) + NAME_OVERHEAD_BYTES;
    copy = wire->failed || text[0] == '\0' || bytes > names->bytes_left ? NULL
                                                                        : strdup(text);
    if (copy == NULL) {
        return false;
    }
    names->bytes_left -= bytes;
    names->bytes += bytes;
    names->texts[names->count++] = copy;
    return true;
}

const char *
wire_get_name(struct wire *wire, struct wire_names *names, size_t most)
{
    const uint64_t number = wire_get_most(wire, names->count + 1);

    if (number > names->count && !keep_name(wire, names, most)) {
        wire->failed = true;
    }
    return number == 0 || wire->failed ? "" : names->texts[number - 1];
}

void
wire_names_finish(struct wire_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free((void *)(uintptr_t)names->texts[i]);
    }
    free(names->texts);
    *names = (struct wire_names){.texts = NULL};
}

int
wire_take_fd(struct wire *wire)
{
    const int fd = wire->passed;

    wire->passed = -1;
    return fd;
}
