/* SPDX-License-Identifier: MIT */
/* perf_map.c - fuzz target: JIT maps, which any program may write as it likes. */
#include "sym/sym.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t addresses[] = {0,         1, 0x1000, 0x1008, 0x7fffffffffff,
                                         UINT64_MAX};
    struct sym_map *const map = sym_map_parse((const char *)data, size);

    for (size_t i = 0; map != NULL && i < sizeof(addresses) / sizeof(addresses[0]);
         i++) {
        struct sym_name name;
        const char *module;

        if (sym_map_lookup(map, addresses[i], &name, &module) && name.name == NULL) {
            abort();
        }
    }
    sym_map_close(map);
    return 0;
}
