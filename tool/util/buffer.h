/* SPDX-License-Identifier: MIT */
/*
 * buffer.h - bytes that grow. Failure sticks: append as much as you like, ask once at
 * the end.
 */
#ifndef UTIL_BUFFER_H
#define UTIL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty buffer. */
struct buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed; /* memory ran out; what was appended since is not there */
};

void buffer_finish(struct buffer *buffer);

/* Room for more bytes behind what is there, not yet counted in size. NULL: out of
 * memory. */
uint8_t *buffer_reserve(struct buffer *buffer, size_t more);

void buffer_append(struct buffer *buffer, const void *bytes, size_t size);
void buffer_append_text(struct buffer *buffer, const char *text);
void buffer_append_byte(struct buffer *buffer, uint8_t byte);

/* As printf. */
__attribute__((format(printf, 2, 3))) void buffer_print(struct buffer *buffer,
                                                        const char *format, ...);

/* The text so far, ended by NUL that is not counted in size. NULL if it failed. */
const char *buffer_text(struct buffer *buffer);

#endif
