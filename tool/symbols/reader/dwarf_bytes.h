/* SPDX-License-Identifier: MIT */
/*
 * dwarf_bytes.h - reads numbers and strings of a debug section one after the other.
 *
 * Behind the end there is nothing: what is read there is 0 or "". Failure sticks, so
 * that a caller may read on and ask once. Inline, since each entry of a unit is passed.
 */
#ifndef SYMBOLS_READER_DWARF_BYTES_H
#define SYMBOLS_READER_DWARF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* sym_dwarf_bytes - from the next on. */
struct sym_dwarf_bytes {
    const unsigned char *at;
    const unsigned char *end;
    bool failed; /* there were too few; at is end */
};

static inline uint64_t
sym_dwarf_bytes_left(const struct sym_dwarf_bytes *bytes)
{
    return (uint64_t)(bytes->end - bytes->at);
}

static inline void
sym_dwarf_bytes_fail(struct sym_dwarf_bytes *bytes)
{
    bytes->failed = true;
    bytes->at = bytes->end;
}

static inline void
sym_dwarf_bytes_pass(struct sym_dwarf_bytes *bytes, uint64_t size)
{
    if (size > sym_dwarf_bytes_left(bytes)) {
        sym_dwarf_bytes_fail(bytes);
    } else {
        bytes->at += size;
    }
}

/* Of up to 8 bytes, in the order of this machine: others are not read. */
static inline uint64_t
sym_dwarf_bytes_number(struct sym_dwarf_bytes *bytes, size_t width)
{
    const unsigned char *const at = bytes->at;
    uint64_t number = 0;

    if (width > sizeof(number) || width > sym_dwarf_bytes_left(bytes)) {
        sym_dwarf_bytes_fail(bytes);
        return 0;
    }
    for (size_t i = 0; i < width; i++) {
        const size_t place = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? width - 1 - i : i;

        number |= (uint64_t)at[place] << 8 * i;
    }
    bytes->at += width;
    return number;
}

/* The bits of a LEB128 number, and how many of them there are, up to 70. */
static inline uint64_t
sym_dwarf_bytes_bits(struct sym_dwarf_bytes *bytes, unsigned int *count)
{
    uint64_t number = 0;

    *count = 0;
    while (bytes->at < bytes->end) {
        const uint64_t byte = *bytes->at++;

        number |= *count < 64 ? (byte & 0x7f) << *count : 0;
        *count += *count < 64 ? 7 : 0;
        if ((byte & 0x80) == 0) {
            return number;
        }
    }
    sym_dwarf_bytes_fail(bytes);
    return 0;
}

/* Unsigned; of a signed one only the end is right. */
static inline uint64_t
sym_dwarf_bytes_leb128(struct sym_dwarf_bytes *bytes)
{
    unsigned int count;

    return sym_dwarf_bytes_bits(bytes, &count);
}

/* Signed, modulo 2^64. */
static inline uint64_t
sym_dwarf_bytes_signed(struct sym_dwarf_bytes *bytes)
{
    unsigned int count;
    const uint64_t number = sym_dwarf_bytes_bits(bytes, &count);

    return count > 0 && count < 64 && (number >> (count - 1) & 1) != 0
               ? number | UINT64_MAX << count
               : number;
}

/* "" if it has no end. */
static inline const char *
sym_dwarf_bytes_string(struct sym_dwarf_bytes *bytes)
{
    const char *const text = (const char *)bytes->at;
    const unsigned char *const end =
        bytes->at == bytes->end
            ? NULL
            : memchr(bytes->at, '\0', (size_t)sym_dwarf_bytes_left(bytes));

    if (end == NULL) {
        sym_dwarf_bytes_fail(bytes);
        return "";
    }
    bytes->at = end + 1;
    return text;
}

#endif
