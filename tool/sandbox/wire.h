/* SPDX-License-Identifier: MIT */
/*
 * wire.h - numbers, texts and descriptors over a socket, between the command and a
 * process without rights.
 *
 * What comes from such a process is hostile: each get function has a limit for what it
 * accepts. A failure is remembered in failed: from then on put and send do nothing, and
 * get returns 0 or "", so that callers check failed once, at the end.
 */
#ifndef SANDBOX_WIRE_H
#define SANDBOX_WIRE_H

#include "base/buffer.h"
#include "base/string_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* wire_wait - wait until the socket is ready for events (POLLIN or POLLOUT). Returns
 * false to give up, which fails the wire. */
typedef bool wire_wait(void *context, int fd, short events);

struct wire {
    int fd;
    wire_wait *wait; /* NULL, in the process without rights: the socket blocks, and
                        descriptors are accepted */
    void *context;
    struct buffer out;  /* what was put and not sent yet */
    struct buffer in;   /* what was received */
    size_t in_at;       /* where in it the next get function begins */
    struct buffer text; /* the last one that wire_get_text returned */
    int passed;         /* a descriptor that was received and not yet taken; or -1 */
    uint64_t received_bytes; /* in all */
    bool failed;
};

void wire_init(struct wire *wire, int fd, wire_wait *wait, void *context);

/* Free the buffers. The socket stays open. */
void wire_finish(struct wire *wire);

/* Append to what the next wire_send sends. */
void wire_put(struct wire *wire, uint64_t number);
void wire_put_bytes(struct wire *wire, const void *bytes, size_t size);
void wire_put_text(struct wire *wire, const char *text);

/* Send what was put, with a descriptor if fd is not -1. */
void wire_send(struct wire *wire, int fd);

/* Whether something was received that no get function has returned yet. */
bool wire_has_more(const struct wire *wire);

/* Receive a number. */
uint64_t wire_get(struct wire *wire);

/* Receive a number that is at most most: a larger one is a failure. */
uint64_t wire_get_most(struct wire *wire, uint64_t most);

/* Receive bytes: *size of them, as the sender says; more than most is a failure.
 * Returns NULL after a failure. The bytes are valid until the next call of a get
 * function. */
const void *wire_get_bytes(struct wire *wire, size_t most, size_t *size);

/* Receive a text of at most most bytes, without the NUL at its end, which is not sent;
 * a NUL in it is a failure. Returns "" after a failure. The text is valid until the
 * next text. */
const char *wire_get_text(struct wire *wire, size_t most);

/*
 * wire_names - texts that are sent often, each as a number. Number 0 is "", and NULL is
 * sent as that. The number after the largest so far is new: its text follows.
 */
struct wire_names {
    const char **texts; /* by number - 1 */
    size_t count;
    size_t room;
    uint64_t bytes;      /* memory of the texts, about */
    uint64_t bytes_left; /* how much may still be added to that */
};

/* Append a name: its number, and its text if that was not put before. sent: the names
 * that were put on this wire so far. */
void wire_put_name(struct wire *wire, struct string_set *sent, const char *text);

/* Receive a name; if it is new, its text has at most most bytes. Returns "" after a
 * failure. The result lives as long as names. */
const char *wire_get_name(struct wire *wire, struct wire_names *names, size_t most);

void wire_names_finish(struct wire_names *names);

/* Return the descriptor that was received and not yet taken, or -1. The caller closes
 * it. */
int wire_take_fd(struct wire *wire);

#endif
