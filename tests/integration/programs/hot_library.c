/* SPDX-License-Identifier: MIT */
/* hot_library.c - a library that is busy in its constructor, before dlopen has
 * returned. */
#include <stdint.h>

static volatile uint64_t sink;

__attribute__((constructor)) static void
hot_constructor(void)
{
    uint64_t value = sink;

    for (int i = 0; i < 60000000; i++) {
        value = value * UINT64_C(6364136223846793005) + 1;
    }
    sink = value;
}
