/* SPDX-License-Identifier: MIT */
/*
 * page_caller.c - a command that makes code at a fixed address and calls its first
 * slot.
 *
 * usage: page_caller ADDRESS CALLS [BYTES] (hexadecimal, decimal). The bytes of a slot
 * come on standard input, one page of them. Of more BYTES, whole pages, the last page
 * has them too, and its first slot is called as often. With 0 BYTES the page is mapped
 * from the file that standard input is, so that uprobes of that file count the calls.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096 };

static void
call(const char *code)
{
    ((void (*)(void))(uintptr_t)code)();
}

static void
call_often(const char *first, const char *last, unsigned long long times)
{
    for (unsigned long long i = times; i > 0; i--) {
        call(first);
        if (last != first) {
            call(last);
        }
    }
}

static int
call_in_file(void *address, unsigned long long times)
{
    const char *const page = mmap(address, PAGE_BYTES, PROT_READ | PROT_EXEC,
                                  MAP_PRIVATE | MAP_FIXED_NOREPLACE, 0, 0);

    if (page == MAP_FAILED) {
        return 3;
    }
    call_often(page, page, times);
    return 0;
}

int
main(int argc, char **argv)
{
    size_t bytes = PAGE_BYTES;
    unsigned long long times;
    void *address;
    char *first;
    char *last;

    if (argc != 3 && argc != 4) {
        return 2;
    }
    address = (void *)(uintptr_t)strtoull(argv[1], NULL, 16);
    times = strtoull(argv[2], NULL, 10);
    if (argc == 4) {
        bytes = strtoull(argv[3], NULL, 10);
    }
    if (bytes == 0) {
        return call_in_file(address, times);
    }
    first = mmap(address, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (first == MAP_FAILED || fread(first, 1, PAGE_BYTES, stdin) != PAGE_BYTES) {
        return 3;
    }
    last = first + bytes - PAGE_BYTES;
    memmove(last, first, PAGE_BYTES);
    if (mprotect(first, bytes, PROT_READ | PROT_EXEC) != 0) {
        return 3;
    }
    __builtin___clear_cache(first, first + PAGE_BYTES);
    __builtin___clear_cache(last, last + PAGE_BYTES);
    call_often(first, last, times);
    return 0;
}
