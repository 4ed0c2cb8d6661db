/* SPDX-License-Identifier: MIT */
/*
 * draw.h - where a run of random calls gets its choices from: bytes of a fuzzer, until
 * there are no more, or a generator that never ends.
 */
#ifndef TESTS_MODEL_DRAW_H
#define TESTS_MODEL_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct draw {
    const uint8_t *bytes;
    size_t left;
    bool endless;   /* state, not bytes */
    uint64_t state; /* splitmix64 */
};

static inline struct draw
draw_from_seed(uint64_t seed)
{
    return (struct draw){.endless = true, .state = seed};
}

static inline struct draw
draw_from_bytes(const uint8_t *bytes, size_t count)
{
    return (struct draw){.bytes = bytes, .left = count};
}

/* draw_is_over - nothing is left: draws give 0. */
static inline bool
draw_is_over(const struct draw *draw)
{
    return !draw->endless && draw->left == 0;
}

static inline uint8_t
draw_byte(struct draw *draw)
{
    if (draw->endless) {
        uint64_t mixed = draw->state += 0x9E3779B97F4A7C15;

        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
        return (uint8_t)(mixed >> 56);
    }
    if (draw->left == 0) {
        return 0;
    }
    draw->left--;
    return *draw->bytes++;
}

static inline uint64_t
draw_bytes(struct draw *draw, int count)
{
    uint64_t value = 0;

    for (int i = 0; i < count; i++) {
        value = value << 8 | draw_byte(draw);
    }
    return value;
}

/* draw_below - 0 to limit - 1; limit is 1 to 2^32. */
static inline uint32_t
draw_below(struct draw *draw, uint64_t limit)
{
    return (uint32_t)(draw_bytes(draw, limit <= 256     ? 1
                                       : limit <= 65536 ? 2
                                                        : 4) %
                      limit);
}

/* draw_one_in - true one time in so many, up to 256; never for a draw that is over. */
static inline bool
draw_one_in(struct draw *draw, uint32_t many)
{
    return draw_below(draw, many) == many - 1;
}

#endif
