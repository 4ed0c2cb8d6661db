/* SPDX-License-Identifier: MIT */
/*
 * dwarf_bytes.h - a cursor that reads the numbers and strings of a debug section.
 *
 * The functions read at the cursor and move it. A read beyond the end sets failed,
 * which stays set, and returns 0 or "", so a caller may read on and check once. They
 * are inline, since every entry of a unit is read or skipped by them.
 */
#ifndef SYMBOLS_READER_DWARF_BYTES_H
#define SYMBOLS_READER_DWARF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* sym_dwarf_bytes - the bytes of a section that are still to be read. */
struct sym_dwarf_bytes {
    const unsigned char *at;
    const unsigned char *end;
    bool failed; /* a read went beyond the end; at is end */
};

static inline uint64_t
sym_dwarf_bytes_left(const struct sym_dwarf_bytes *bytes)
{
    return (uint64_t)(bytes->end - bytes->at);
}

/* Set failed, and move the cursor to the end. */
static inline void
sym_dwarf_bytes_fail(struct sym_dwarf_bytes *bytes)
{
    bytes->failed = true;
    bytes->at = bytes->end;
}

/* Skip size bytes. */
static inline void
sym_dwarf_bytes_skip(struct sym_dwarf_bytes *bytes, uint64_t size)
{
    if (size > sym_dwarf_bytes_left(bytes)) {
        sym_dwarf_bytes_fail(bytes);
    } else {
        bytes->at += size;
    }
}

/* Read an unsigned number of width bytes, 0 to 8, in native byte order: files of
 * another byte order are refused before. */
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
        const size_t index = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? width - 1 - i : i;

        number |= (uint64_t)at[index] << 8 * i;
    }
    bytes->at += width;
    return number;
}

/* Read a LEB128 number without extending its sign. count: out, the number of bits that
 * it has, which tells where the sign is; 64 to 70 if they fill the result. */
static inline uint64_t
sym_dwarf_bytes_leb128_bits(struct sym_dwarf_bytes *bytes, unsigned int *count)
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

/* Read an unsigned LEB128 number, modulo 2^64, or skip a signed one: they have the same
 * length. */
static inline uint64_t
sym_dwarf_bytes_leb128(struct sym_dwarf_bytes *bytes)
{
    unsigned int count;

    return sym_dwarf_bytes_leb128_bits(bytes, &count);
}

/* Read a signed LEB128 number, as its value modulo 2^64. */
static inline uint64_t
sym_dwarf_bytes_signed(struct sym_dwarf_bytes *bytes)
{
    unsigned int count;
    const uint64_t number = sym_dwarf_bytes_leb128_bits(bytes, &count);

    return count > 0 && count < 64 && (number >> (count - 1) & 1) != 0
               ? number | UINT64_MAX << count
               : number;
}

/* Read a string that ends with 0. It is valid as long as the section. */
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
