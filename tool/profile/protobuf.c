/* SPDX-License-Identifier: MIT */
/* protobuf.c - encodes and decodes varints, numbers and byte fields; packed and single
 * values of a repeated field are read alike. */
#include "profile/protobuf.h"

enum { VARINT_BYTES_MAX = 10 };

void
protobuf_put_varint(struct buffer *out, uint64_t value)
{
    uint8_t *const room = buffer_reserve(out, VARINT_BYTES_MAX);
    size_t size = 0;

    if (room == NULL) {
        return;
    }
    while (value >= 0x80) {
        room[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    room[size++] = (uint8_t)value;
    out->size += size;
}

void
protobuf_put_number(struct buffer *out, uint32_t field, uint64_t value)
{
    if (value != 0) {
        protobuf_put_varint(out, (uint64_t)field << 3 | PROTOBUF_VARINT);
        protobuf_put_varint(out, value);
    }
}

void
protobuf_put_bytes(struct buffer *out, uint32_t field, const void *bytes, size_t size)
{
    protobuf_put_varint(out, (uint64_t)field << 3 | PROTOBUF_BYTES);
    protobuf_put_varint(out, size);
    buffer_append(out, bytes, size);
}

bool
protobuf_get_varint(struct protobuf_reader *reader, uint64_t *value)
{
    uint64_t result = 0;

    for (unsigned shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
        const uint8_t byte = *reader->at++;

        if (shift == 63 && byte > 1) {
            return false;
        }
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            return true;
        }
    }
    return false;
}

static bool
take_bytes(struct protobuf_reader *reader, uint64_t size, struct protobuf_reader *taken)
{
    if (size > (uint64_t)(reader->end - reader->at)) {
        return false;
    }
    taken->at = reader->at;
    taken->end = reader->at + size;
    reader->at += size;
    return true;
}

enum protobuf_result
protobuf_next(struct protobuf_reader *reader, struct protobuf_field *field)
{
    uint64_t tag;
    uint64_t size = 0;
    struct protobuf_reader skipped;
    bool good = false;

    if (reader->at == reader->end) {
        return PROTOBUF_END;
    }
    if (!protobuf_get_varint(reader, &tag) || tag >> 3 == 0) {
        return PROTOBUF_BROKEN;
    }
    field->number = tag >> 3;
    field->wire = (unsigned)(tag & 7);
    field->value = 0;
    field->bytes.at = field->bytes.end = reader->at;
    switch (field->wire) {
    case PROTOBUF_VARINT:
        good = protobuf_get_varint(reader, &field->value);
        break;
    case PROTOBUF_BYTES:
        good = protobuf_get_varint(reader, &size) &&
               take_bytes(reader, size, &field->bytes);
        break;
    case PROTOBUF_FIXED64:
        good = take_bytes(reader, 8, &skipped);
        break;
    case PROTOBUF_FIXED32:
        good = take_bytes(reader, 4, &skipped);
        break;
    default:
        break; /* groups, which protobuf dropped long before pprof existed */
    }
    return good ? PROTOBUF_FIELD : PROTOBUF_BROKEN;
}

bool
protobuf_get_repeated(struct protobuf_field *field, uint64_t *value)
{
    if (field->wire == PROTOBUF_BYTES) {
        return protobuf_get_varint(&field->bytes, value);
    }
    if (field->wire != PROTOBUF_VARINT) {
        return false;
    }
    *value = field->value;
    field->wire = PROTOBUF_BYTES; /* no bytes left: this was the last number */
    return true;
}
