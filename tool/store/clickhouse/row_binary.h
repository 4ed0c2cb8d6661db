/* SPDX-License-Identifier: MIT */
/*
 * row_binary.h - ClickHouse's format RowBinary: columns one after another, numbers in
 * little endian, texts and arrays behind their length. Nothing in it is escaped.
 *
 * A reader may be given any bytes: after the first one that makes no sense it yields
 * zeros and empty texts, and has failed set.
 */
#ifndef STORE_CLICKHOUSE_ROW_BINARY_H
#define STORE_CLICKHOUSE_ROW_BINARY_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* row_binary_put - append a number of 1, 2, 4 or 8 bytes. */
void row_binary_put(struct buffer *out, uint64_t number, size_t bytes);
void row_binary_put_double(struct buffer *out, double number);

/* row_binary_put_length - append the number of elements of an array, or of bytes of a
 * text, which follow. */
void row_binary_put_length(struct buffer *out, uint64_t length);
void row_binary_put_text(struct buffer *out, const char *text);

struct row_binary_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

/* row_binary_more - return whether there is another row. */
bool row_binary_more(const struct row_binary_reader *reader);

/* row_binary_get - read a number of 1, 2, 4 or 8 bytes. */
uint64_t row_binary_get(struct row_binary_reader *reader, size_t bytes);
double row_binary_get_double(struct row_binary_reader *reader);

/* row_binary_get_length - read the length of an array. One that is larger than the
 * number of bytes that are left makes the reader fail: each element has at least a
 * byte. */
size_t row_binary_get_length(struct row_binary_reader *reader);

/* row_binary_get_text - copy a text to a buffer, terminated by NUL; what is behind a
 * NUL in it is left out. Valid as long as the buffer is not changed otherwise. */
const char *row_binary_get_text(struct row_binary_reader *reader, struct buffer *text);

#endif
