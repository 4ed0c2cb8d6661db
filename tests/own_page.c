/* SPDX-License-Identifier: MIT */
#include "own_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 }; /* of code */

const char *
own_page_make(const char *code)
{
    /* A hint: where addresses are short, the kernel chooses one. */
    const uint64_t wanted =
        UINT64_C(0x7ea000000000) + (uint64_t)getpid() * (uint64_t)sysconf(_SC_PAGESIZE);
    char *const page = mmap((void *)(uintptr_t)wanted, PAGE_BYTES,
                            PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(page, MAP_FAILED);
    memcpy(page, code, PAGE_BYTES);
    assert_int_equal(mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC), 0);
    __builtin___clear_cache(page, page + PAGE_BYTES);
    return page;
}
