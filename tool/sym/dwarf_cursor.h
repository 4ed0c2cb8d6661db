/* SPDX-License-Identifier: MIT */
/*
 * dwarf_cursor.h - reads integers of the native byte order from bytes that end
 * somewhere.
 *
 * A read behind the end gives 0 and sets failed, which sticks: read on, ask once.
 */
#ifndef SYM_DWARF_CURSOR_H
#define SYM_DWARF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sym_dwarf_cursor {
    const unsigned char *at;
    const unsigned char *end;
    bool failed;
};

/* At an offset into size bytes. */
static inline struct sym_dwarf_cursor
sym_dwarf_cursor_at(const unsigned char *bytes, uint64_t size, uint64_t offset)
{
    if (bytes == NULL || offset > size) {
        return (struct sym_dwarf_cursor){.failed = true};
    }
    return (struct sym_dwarf_cursor){bytes + offset, bytes + size, false};
}

static inline uint64_t
sym_dwarf_fail(struct sym_dwarf_cursor *cursor)
{
    cursor->at = cursor->end;
    cursor->failed = true;
    return 0;
}

static inline void
sym_dwarf_skip(struct sym_dwarf_cursor *cursor, uint64_t size)
{
    if (size > (uint64_t)(cursor->end - cursor->at)) {
        sym_dwarf_fail(cursor);
        return;
    }
    cursor->at += size;
}

/* Of 1 to 8 bytes. */
static inline uint64_t
sym_dwarf_fixed(struct sym_dwarf_cursor *cursor, size_t size)
{
    const uint16_t probe = 1;
    uint64_t value = 0;

    if (size > (size_t)(cursor->end - cursor->at)) {
        return sym_dwarf_fail(cursor);
    }
    if (*(const unsigned char *)&probe == 1) {
        memcpy(&value, cursor->at, size);
    } else {
        memcpy((char *)&value + sizeof(value) - size, cursor->at, size);
    }
    cursor->at += size;
    return value;
}

/* Bits above the 64th are lost. */
static inline uint64_t
sym_dwarf_uleb(struct sym_dwarf_cursor *cursor)
{
    uint64_t value = 0;
    unsigned int shift = 0;

    while (cursor->at < cursor->end) {
        const unsigned char byte = *cursor->at++;

        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        if ((byte & 0x80) == 0) {
            return value;
        }
        shift += 7;
    }
    return sym_dwarf_fail(cursor);
}

/* A signed one, as the bits of its two's complement. */
static inline uint64_t
sym_dwarf_sleb(struct sym_dwarf_cursor *cursor)
{
    uint64_t value = 0;
    unsigned int shift = 0;

    while (cursor->at < cursor->end) {
        const unsigned char byte = *cursor->at++;

        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        shift += 7;
        if ((byte & 0x80) == 0) {
            if ((byte & 0x40) != 0 && shift < 64) {
                value |= ~UINT64_C(0) << shift;
            }
            return value;
        }
    }
    return sym_dwarf_fail(cursor);
}

#endif
