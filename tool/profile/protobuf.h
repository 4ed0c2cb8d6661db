/* SPDX-License-Identifier: MIT */
/*
 * protobuf.h - the part of the protobuf wire format that pprof needs: varints and
 * bytes.
 */
#ifndef PROFILE_PROTOBUF_H
#define PROFILE_PROTOBUF_H

#include "base/buffer.h"

enum {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2,
    PROTOBUF_FIXED32 = 5
};

void protobuf_put_varint(struct buffer *out, uint64_t value);

/* Write a varint field, unless the number is 0, the default. */
void protobuf_put_number(struct buffer *out, uint32_t field, uint64_t value);

/* Write text, a message or packed numbers, even if empty. */
void protobuf_put_bytes(struct buffer *out, uint32_t field, const void *bytes,
                        size_t size);

/* protobuf_reader - the unread bytes, which are borrowed. */
struct protobuf_reader {
    const uint8_t *at;
    const uint8_t *end;
};

struct protobuf_field {
    uint64_t number;
    unsigned wire;                /* PROTOBUF_... */
    uint64_t value;               /* varint; 0 for other types */
    struct protobuf_reader bytes; /* of PROTOBUF_BYTES, else empty */
};

enum protobuf_result { PROTOBUF_END, PROTOBUF_FIELD, PROTOBUF_BROKEN };

/* Read the next field. Returns PROTOBUF_BROKEN if it exceeds the bytes or has an
 * unknown type. */
enum protobuf_result protobuf_next(struct protobuf_reader *reader,
                                   struct protobuf_field *field);

/* Read a varint. Returns false at the end, or if it is incomplete or longer than 64
 * bits. */
bool protobuf_get_varint(struct protobuf_reader *reader, uint64_t *value);

/*
 * Read the next number of a repeated field, packed or not. Returns false at the end of
 * field. It advances *field: a packed field shrinks, another becomes empty.
 */
bool protobuf_get_repeated(struct protobuf_field *field, uint64_t *value);

#endif
