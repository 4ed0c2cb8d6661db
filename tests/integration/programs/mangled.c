/* SPDX-License-Identifier: MIT */
/* mangled.c - busy functions with the names that C++ and both of Rust's schemes make.
 */
#include <stdint.h>

static volatile uint64_t sink;

#define BUSY(name, symbol)                                     \
    extern void name(void) __asm__(symbol);                    \
    __attribute__((noinline)) void name(void)                  \
    {                                                          \
        uint64_t value = sink;                                 \
                                                               \
        for (int i = 0; i < 60000000; i++) {                   \
            value = value * UINT64_C(6364136223846793005) + 1; \
        }                                                      \
        sink = value;                                          \
    }

BUSY(cpp_work, "_ZN5outer5innerILi3EE4workEi")
BUSY(rust_legacy_work, "_ZN7mycrate11legacy_work17h0123456789abcdefE")
BUSY(rust_v0_work, "_RNvC7mycrate7v0_work")

int
main(void)
{
    cpp_work();
    rust_legacy_work();
    rust_v0_work();
    return 0;
}
