/* SPDX-License-Identifier: MIT */
/* pieces.h - forges memory by pieces of data: a byte for the kind, two for the number,
 * and the bytes of that part, as far as there are any. */
#ifndef TESTS_FUZZ_PIECES_H
#define TESTS_FUZZ_PIECES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* pieces_place - return where a piece goes, and set how many bytes it may have. */
typedef uint8_t *pieces_place(void *context, uint8_t kind, uint16_t number,
                              size_t *most);

static void
pieces_forge(const uint8_t *data, size_t size, pieces_place *find, void *context)
{
    while (size > 3) {
        const uint16_t number = (uint16_t)(data[1] | data[2] << 8);
        size_t bytes;
        uint8_t *const place = find(context, data[0], number, &bytes);

        data += 3;
        size -= 3;
        bytes = bytes < size ? bytes : size;
        memcpy(place, data, bytes);
        data += bytes;
        size -= bytes;
    }
}

#endif
