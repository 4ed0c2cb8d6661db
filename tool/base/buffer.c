/* SPDX-License-Identifier: MIT */
/*
 * buffer.c - an array of bytes that grows.
 *
 * Invariant: size <= capacity, and data is NULL if and only if capacity is 0.
 */
#include "base/buffer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef NDEBUG
static bool
assert_buffer_state(const struct buffer *buffer)
{
    assert(buffer->size <= buffer->capacity);
    assert((buffer->data == NULL) == (buffer->capacity == 0));
    return true;
}
#endif

void
buffer_finish(struct buffer *buffer)
{
    free(buffer->data);
    memset(buffer, 0, sizeof(*buffer));
}

uint8_t *
buffer_reserve(struct buffer *buffer, size_t more)
{
    size_t needed;
    size_t capacity = buffer->capacity > 0 ? buffer->capacity : 256;
    uint8_t *data;

    assert(assert_buffer_state(buffer));
    /* Doubling a capacity below SIZE_MAX / 2 does not overflow. */
    if (buffer->failed || __builtin_add_overflow(buffer->size, more, &needed) ||
        needed > SIZE_MAX / 2) {
        buffer->failed = true;
        return NULL;
    }
    if (needed <= buffer->capacity && buffer->data != NULL) {
        return buffer->data + buffer->size;
    }
    while (capacity < needed) {
        capacity *= 2;
    }
    data = realloc(buffer->data, capacity);
    if (data == NULL) {
        buffer->failed = true;
        return NULL;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return data + buffer->size;
}

void
buffer_append(struct buffer *buffer, const void *bytes, size_t size)
{
    uint8_t *room = buffer_reserve(buffer, size);

    if (room != NULL && size > 0) {
        memcpy(room, bytes, size);
        buffer->size += size;
    }
}

void
buffer_append_text(struct buffer *buffer, const char *text)
{
    buffer_append(buffer, text, strlen(text));
}

void
buffer_append_byte(struct buffer *buffer, uint8_t byte)
{
    buffer_append(buffer, &byte, 1);
}

void
buffer_print(struct buffer *buffer, const char *format, ...)
{
    /* Nearly every text fits, so it is formatted only once. */
    const size_t room_bytes = buffer->capacity - buffer->size;
    char *room = (char *)(room_bytes > 0 ? buffer->data + buffer->size : NULL);
    va_list arguments;
    int length;

    assert(assert_buffer_state(buffer));
    if (buffer->failed) {
        return;
    }
    va_start(arguments, format);
    length = vsnprintf(room, room_bytes, format, arguments);
    va_end(arguments);
    if (length < 0) {
        buffer->failed = true;
        return;
    }
    if ((size_t)length >= room_bytes) {
        room = (char *)buffer_reserve(buffer, (size_t)length + 1);
        if (room == NULL) {
            return;
        }
        va_start(arguments, format);
        vsnprintf(room, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    buffer->size += (size_t)length;
}

const char *
buffer_text(struct buffer *buffer)
{
    uint8_t *room = buffer_reserve(buffer, 1);

    if (room == NULL) {
        return NULL;
    }
    *room = 0;
    return (const char *)buffer->data;
}
