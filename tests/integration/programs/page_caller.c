/* SPDX-License-Identifier: MIT */
/*
 * page_caller.c - a command that makes code at a fixed address and calls its first slot.
 *
 * usage: page_caller ADDRESS CALLS (hexadecimal, decimal). The bytes of a slot come on standard
 * input, one page of them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int
main(int argc, char **argv)
{
    const size_t bytes = 4096;
    void (*function)(void);
    char *page;

    if (argc != 3) {
        return 2;
    }
    page = mmap((void *)(uintptr_t)strtoull(argv[1], NULL, 16), bytes,
                PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page == MAP_FAILED || fread(page, 1, bytes, stdin) != bytes ||
        mprotect(page, bytes, PROT_READ | PROT_EXEC) != 0) {
        return 3;
    }
    __builtin___clear_cache(page, page + bytes);
    function = (void (*)(void))(uintptr_t)page;
    for (unsigned long long i = strtoull(argv[2], NULL, 10); i > 0; i--) {
        function();
    }
    return 0;
}
