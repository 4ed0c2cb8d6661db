/* SPDX-License-Identifier: MIT */
/* kernel_range.c - the address range of kernel code, by architecture. */
#include "record/collect/kernel_range.h"

#include <stdlib.h>
#include <string.h>

/* Modules are within this distance of the kernel text. */
static const uint64_t modules_distance = UINT64_C(1) << 31;
static const uint64_t begin_mask = ~((UINT64_C(1) << 21) - 1);

bool
kernel_range_around_text(FILE *symbols, struct kernel_range *range)
{
    char *line = NULL;
    size_t size = 0;
    uint64_t text = 0; /* Linux shows 0 where it hides the addresses */

    while (getline(&line, &size, symbols) > 0) {
        if (strstr(line, " _text\n") != NULL) {
            text = strtoull(line, NULL, 16);
            break;
        }
    }
    free(line);
    if (text < modules_distance || text > UINT64_MAX - modules_distance) {
        return false;
    }
    range->begin = (text & begin_mask) - modules_distance;
    range->length = 2 * modules_distance;
    return true;
}

struct kernel_range
kernel_range_find(void)
{
#if defined(__x86_64__)
    /* Kernel text and modules: the top 2 GB, minus its last bytes so that the end does
     * not wrap. */
    return (struct kernel_range){UINT64_C(0xffffffff80000000), UINT64_C(0x7ffffff0)};
#elif defined(__aarch64__)
    /* Where they are if the kernel was not moved at its start (KASLR). */
    struct kernel_range range = {UINT64_C(0xffff800000000000), UINT64_C(0x100000000)};
    FILE *const symbols = fopen("/proc/kallsyms", "re");

    if (symbols != NULL) {
        (void)kernel_range_around_text(symbols, &range);
        fclose(symbols);
    }
    return range;
#elif UINTPTR_MAX == UINT32_MAX
    /* 32-bit kernels: the top 1 GB, minus its last bytes. */
    return (struct kernel_range){UINT64_C(0xc0000000), UINT64_C(0x3ffffff0)};
#else
    return (struct kernel_range){0, 0};
#endif
}
