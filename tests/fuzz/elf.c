/* SPDX-License-Identifier: MIT */
/*
 * elf.c - fuzz target: names, addresses and lines of a forged ELF image.
 */
#include "sym/sym.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_name(const struct sym_name *name, bool named)
{
    if (named != (name->name != NULL) || name->file == NULL ||
        (named && (strlen(name->name) == 0 || strlen(name->system_name) == 0))) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_image *image = sym_image_open_memory(data, size, "/nowhere/forged");
    const size_t step = size / 128 + 1;

    if (image == NULL) {
        return 0;
    }
    if (strspn(sym_image_build_id(image), "0123456789abcdef") !=
        strlen(sym_image_build_id(image))) {
        abort();
    }
    (void)sym_image_has_symbols(image);
    for (uint64_t offset = 0; offset < size; offset += step) {
        struct sym_name name;

        check_name(&name, sym_image_lookup(image, offset, &name));
    }
    sym_image_close(image);
    return 0;
}
