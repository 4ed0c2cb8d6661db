/* SPDX-License-Identifier: MIT */
/*
 * page_faults.c - touches a new page as often as it is told, in one function: each is
 * one page fault in user mode.
 *
 * usage: page_faults COUNT [wait] ("wait": first reads a byte from standard input)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

__attribute__((noinline)) static void
touch(volatile char *page)
{
    *page = 1;
}

int
main(int argc, char **argv)
{
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;

    if (argc > 2 && strcmp(argv[2], "wait") == 0) {
        (void)getchar();
    }
    for (long i = 0; i < count; i++) {
        void *const page =
            mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (page == MAP_FAILED) {
            return 3;
        }
        touch(page);
        munmap(page, 1);
    }
    return 0;
}
