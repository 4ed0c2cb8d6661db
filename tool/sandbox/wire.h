/* SPDX-License-Identifier: MIT */
/*
 * wire.h - numbers, texts and descriptors over a socket, between the command and a
 * process without rights.
 *
 * What comes from such a process is hostile: a reader takes what it asks for and checks
 * it. Failure sticks: numbers are 0 and texts empty then; read on, ask once.
 */
#ifndef SANDBOX_WIRE_H
#define SANDBOX_WIRE_H

#include "base/buffer.h"
#include "base/string_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* wire_wait - waits until the socket is ready; false ends the conversation. events: of
 * poll. */
typedef bool wire_wait(void *context, int fd, short events);

struct wire {
    int fd;
    wire_wait *wait; /* NULL: the socket blocks, and descriptors are taken */
    void *context;
    struct buffer out;
    struct buffer in;
    size_t in_at;
    struct buffer text;
    int passed; /* a descriptor that came and nobody took; -1 */
    uint64_t received_bytes;
    bool failed;
};

void wire_init(struct wire *wire, int fd, wire_wait *wait, void *context);

/* Leaves the socket open. */
void wire_finish(struct wire *wire);

void wire_put(struct wire *wire, uint64_t number);
void wire_put_bytes(struct wire *wire, const void *bytes, size_t size);
void wire_put_text(struct wire *wire, const char *text);

/* Sends what was put, with a descriptor if fd is not -1. */
void wire_send(struct wire *wire, int fd);

uint64_t wire_get(struct wire *wire);

/* The same, which is at most that. */
uint64_t wire_get_most(struct wire *wire, uint64_t most);

/* As many as there are of at most most; NULL if it failed. Valid until the next of
 * these two. */
const void *wire_get_bytes(struct wire *wire, size_t most, size_t *size);

/* Ended by its only NUL; "" if it failed. */
const char *wire_get_text(struct wire *wire, size_t most);

/*
 * Names are texts that come again and again: numbers, of which one that is next is
 * followed by its text. 0 is "", as which NULL goes too.
 */
struct wire_names {
    const char **texts; /* by number, less one */
    size_t count;
    size_t room;
    uint64_t bytes;
    uint64_t bytes_left; /* of those that may still come */
};

/* sent: those of this wire so far. */
void wire_put_name(struct wire *wire, struct string_set *sent, const char *text);

/* Of at most most bytes. Lives as long as names. */
const char *wire_get_name(struct wire *wire, struct wire_names *names, size_t most);

void wire_names_finish(struct wire_names *names);

/* The descriptor that came with what was read, or -1; the caller's from now on. */
int wire_take_fd(struct wire *wire);

#endif
