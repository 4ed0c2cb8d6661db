/* SPDX-License-Identifier: MIT */
/* kernel_range.c - the address range of kernel code, by architecture. */
#include "record/collect/kernel_range.h"

#include <stdlib.h>
#include <string.h>

/* Modules are within this distance of the kernel text. */
static const uint64_t modules_distance = UINT64_C(1) << 31;

/* A range begins at a multiple of 2 MB, the bucket of the kernel map (image.c). */
static const uint64_t begin_mask = ~((UINT64_C(1) << 21) - 1);

/* Return the address in a line of /proc/kallsyms if its symbol begins the kernel's
 * text: _text or _stext, of which some kernels show only one. Returns 0 for other
 * lines, or if Linux hides addresses. */
static uint64_t
text_address(const char *line)
{
    static const char *const names[] = {" _text\n", " _stext\n"};
    char *kind;
    const uint64_t address = strtoull(line, &kind, 16);

    /* kind is " T _text", or longer for a symbol of a module */
    if (kind != line && kind[0] == ' ' && kind[1] != '\0') {
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            if (strcmp(kind + 2, names[i]) == 0) {
                return address;
            }
        }
    }
    return 0;
}

bool
kernel_range_around_text(FILE *symbols, struct kernel_range *range)
{
    char *line = NULL;
    size_t size = 0;
    uint64_t text = 0;

    while (text == 0 && getline(&line, &size, symbols) > 0) {
        text = text_address(line);
    }
    free(line);
    if (text < modules_distance || text > UINT64_MAX - modules_distance) {
        return false;
    }
    range->begin = (text & begin_mask) - modules_distance;
    range->length = 2 * modules_distance;
    return true;
}

/* Whether any line has an address that is not 0: Linux shows all as 0 to callers from
 * whom it hides them. */
static bool
shows_addresses(FILE *symbols)
{
    char *line = NULL;
    size_t size = 0;
    bool shown = false;

    while (!shown && getline(&line, &size, symbols) > 0) {
        shown = strtoull(line, NULL, 16) != 0;
    }
    free(line);
    return shown;
}

const char *
kernel_range_doubt_of(FILE *symbols)
{
    struct kernel_range range;

    if (symbols == NULL) {
        return "/proc/kallsyms cannot be read";
    }
    if (kernel_range_around_text(symbols, &range)) {
        return NULL;
    }
    rewind(symbols);
    return shows_addresses(symbols)
               ? "/proc/kallsyms has neither _text nor _stext, which say where the "
                 "kernel's code is"
               : "it hides its addresses from the caller (kernel.kptr_restrict); to "
                 "allow: grant CAP_SYSLOG, with kernel.kptr_restrict 0 or 1";
}

const char *
kernel_range_doubt(void)
{
#if defined(__aarch64__)
    FILE *const symbols = fopen("/proc/kallsyms", "re");
    const char *const doubt = kernel_range_doubt_of(symbols);

    if (symbols != NULL) {
        fclose(symbols);
    }
    return doubt;
#elif defined(__x86_64__) || UINTPTR_MAX == UINT32_MAX
    return NULL;
#else
    return "where the kernel's code is on this architecture is not known";
#endif
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
