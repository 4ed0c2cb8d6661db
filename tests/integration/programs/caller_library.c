/* SPDX-License-Identifier: MIT */
/*
 * caller_library.c - a library whose constructor calls the library's own slot CALLS
 * times, before dlopen returns. Built several times with different CALLS and the same
 * layout.
 */
#include <stdint.h>

__asm__(".pushsection .text\n"
        "    .balign 16\n"
        "    .globl library_slot\n"
        "    .type library_slot, @function\n"
        "library_slot:\n"
        "    ret\n"
        "    .size library_slot, . - library_slot\n"
        "    .popsection\n");

extern void library_slot(void);
void library_call(uint64_t times);

static volatile uint64_t constructor_calls = CALLS;

void
library_call(uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        library_slot();
    }
}

__attribute__((constructor)) static void
call_before_main(void)
{
    library_call(constructor_calls);
}
