/* SPDX-License-Identifier: MIT */
/* row_binary.c - puts and gets numbers, texts and lengths. */
#include "store/clickhouse/row_binary.h"

#include <string.h>

/* A length is a LEB128 number: 7 bits in each byte, and a bit that says that more
 * follow. */
enum { LENGTH_BITS = 7, LENGTH_MORE = 0x80 };

void
row_binary_put(struct buffer *out, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        buffer_append_byte(out, (uint8_t)(number >> (8 * i)));
    }
}

void
row_binary_put_double(struct buffer *out, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    row_binary_put(out, bits, sizeof(bits));
}

void
row_binary_put_length(struct buffer *out, uint64_t length)
{
    while (length >= LENGTH_MORE) {
        buffer_append_byte(out, (uint8_t)(length | LENGTH_MORE));
        length >>= LENGTH_BITS;
    }
    buffer_append_byte(out, (uint8_t)length);
}

void
row_binary_put_text(struct buffer *out, const char *text)
{
    const size_t length = strlen(text);

    row_binary_put_length(out, length);
    buffer_append(out, text, length);
}

bool
row_binary_more(const struct row_binary_reader *reader)
{
    return !reader->failed && reader->at < reader->end;
}

/* Take the next bytes. Returns NULL if there are not so many. */
static const uint8_t *
take_bytes(struct row_binary_reader *reader, size_t bytes)
{
    const uint8_t *const at = reader->at;

    if (reader->failed || bytes > (size_t)(reader->end - at)) {
        reader->failed = true;
        return NULL;
    }
    reader->at += bytes;
    return at;
}

uint64_t
row_binary_get(struct row_binary_reader *reader, size_t bytes)
{
    const uint8_t *const at = take_bytes(reader, bytes);
    uint64_t number = 0;

    for (size_t i = 0; at != NULL && i < bytes; i++) {
        number |= (uint64_t)at[i] << (8 * i);
    }
    return number;
}

double
row_binary_get_double(struct row_binary_reader *reader)
{
    const uint64_t bits = row_binary_get(reader, sizeof(bits));
    double number;

    memcpy(&number, &bits, sizeof(number));
    return number;
}

size_t
row_binary_get_length(struct row_binary_reader *reader)
{
    uint64_t length = 0;

    for (unsigned shift = 0; shift < 64; shift += LENGTH_BITS) {
        const uint8_t *const byte = take_bytes(reader, 1);

        if (byte == NULL) {
            return 0;
        }
        length |= (uint64_t)(*byte & (LENGTH_MORE - 1)) << shift;
        if ((*byte & LENGTH_MORE) == 0) {
            break;
        }
    }
    if (length > (uint64_t)(reader->end - reader->at)) {
        reader->failed = true;
        return 0;
    }
    return (size_t)length;
}

const char *
row_binary_get_text(struct row_binary_reader *reader, struct buffer *text)
{
    const size_t length = row_binary_get_length(reader);
    const uint8_t *const bytes = take_bytes(reader, length);
    const char *copy;

    text->size = 0;
    if (bytes != NULL) {
        buffer_append(text, bytes, length);
    }
    copy = buffer_text(text);
    reader->failed |= copy == NULL;
    return copy != NULL ? copy : "";
}
