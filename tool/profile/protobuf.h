/* SPDX-License-Identifier: MIT */
/*
 * protobuf.h - the protobuf wire format, as much of it as pprof needs: varints and
 * bytes.
 */
#ifndef PROFILE_PROTOBUF_H
#define PROFILE_PROTOBUF_H

#include "util/buffer.h"

enum {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2,
    PROTOBUF_FIXED32 = 5
};

void protobuf_put_varint(struct buffer *out, uint64_t value);

/* A varint field; 0 is the default and is left out. */
void protobuf_put_number(struct buffer *out, uint32_t field, uint64_t value);

/* Text, a message or packed numbers; written also if empty. */
void protobuf_put_bytes(struct buffer *out, uint32_t field, const void *bytes,
                        size_t size);

/* Where reading stands. The bytes are borrowed. */
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

/* The next field. PROTOBUF_BROKEN: it does not fit into the bytes, or its type is none.
 */
enum protobuf_result protobuf_next(struct protobuf_reader *reader,
                                   struct protobuf_field *field);

/* False at the end, or if the varint is cut off or longer than 64 bits. */
bool protobuf_get_varint(struct protobuf_reader *reader, uint64_t *value);

/*
 * The next number of a repeated field, packed or not; at the end of field false. Walk
 * *field itself: a packed one shrinks, a plain one becomes empty.
 */
bool protobuf_get_repeated(struct protobuf_field *field, uint64_t *value);

#endif
