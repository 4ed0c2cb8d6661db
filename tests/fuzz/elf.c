/* SPDX-License-Identifier: MIT */
/* elf.c - fuzz target: ELF images with their symbol tables, lines and mini-debuginfo. */
#include "sym/sym.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t offsets[] = {0, 0x40, 0x1000, 0x1010, 0x1fff, UINT64_MAX};
    struct sym_image *const image = sym_image_open_memory(data, size, "fuzz");

    if (image == NULL) {
        return 0;
    }
    if (sym_image_build_id(image) == NULL) {
        abort();
    }
    sym_image_has_symbols(image);
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        struct sym_name name;
        uint64_t address;

        if (sym_image_lookup(image, offsets[i], &name) && name.name == NULL) {
            abort();
        }
        sym_image_address(image, offsets[i], &address);
    }
    sym_image_close(image);
    return 0;
}
