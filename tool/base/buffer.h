/* SPDX-License-Identifier: MIT */
/*
 * buffer.h - an array of bytes that grows. A failure is remembered, so callers append
 * without checks and check once at the end.
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty buffer. */
struct buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed; /* memory ran out, and later appends were ignored */
};

void buffer_finish(struct buffer *buffer);

/* Make room for more bytes after the current ones, without changing size. Returns where
 * they go, or NULL if memory runs out now or did before (failed). */
uint8_t *buffer_reserve(struct buffer *buffer, size_t more);

void buffer_append(struct buffer *buffer, const void *bytes, size_t size);
void buffer_append_text(struct buffer *buffer, const char *text);
void buffer_append_byte(struct buffer *buffer, uint8_t byte);

/* Append formatted text; as printf. */
__attribute__((format(printf, 2, 3))) void buffer_print(struct buffer *buffer,
                                                        const char *format, ...);

/* Return the text so far, terminated by NUL, which size does not include. Returns NULL
 * after a failure. */
const char *buffer_text(struct buffer *buffer);

#endif
