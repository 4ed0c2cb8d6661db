/* SPDX-License-Identifier: MIT */
/*
 * mini_debuginfo.c - the xz-compressed ELF file inside .gnu_debugdata, which holds a
 * .symtab.
 */
#include "symbols/reader/elf_symbols.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

/* The largest real ones unpack to some 20 MB, from a tenth of it. The limit for the
 * memory of the process ends what a forged one takes. */
#define UNPACKED_BYTES_MAX (UINT64_C(1) << 28)
#define RATIO_MAX 64

/* Decompress an xz stream. Returns bytes for free(), or NULL if it is damaged,
 * incomplete or larger than UNPACKED_BYTES_MAX, or memory ran out. */
static unsigned char *
unpack(const char *packed, size_t packed_size, size_t *size)
{
    const size_t room = packed_size < UNPACKED_BYTES_MAX / RATIO_MAX
                            ? RATIO_MAX * packed_size
                            : UNPACKED_BYTES_MAX;
    uint64_t memory = UNPACKED_BYTES_MAX;
    unsigned char *const bytes = malloc(room + 1);
    size_t used = 0;

    *size = 0;
    if (bytes == NULL ||
        lzma_stream_buffer_decode(&memory, 0, NULL, (const uint8_t *)packed, &used,
                                  packed_size, bytes, size, room) != LZMA_OK) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

int
sym_elf_add_mini_debuginfo(const struct sym_elf *file,
                           const struct sym_elf_versions *versions,
                           struct sym_table *table)
{
    const size_t index = sym_elf_find_section(file, ".gnu_debugdata");
    struct sym_elf inner;
    unsigned char *bytes;
    char *packed;
    size_t size;
    int found;

    packed = index == 0 ? NULL
                        : sym_elf_section_copy(file, index, UNPACKED_BYTES_MAX, &size);
    if (packed == NULL) {
        return 0;
    }
    bytes = unpack(packed, size, &size);
    free(packed);
    if (bytes == NULL) {
        return 0;
    }
    found = sym_elf_open_memory(&inner, bytes, size);
    if (found == 0) {
        found = sym_elf_add_symbols(&inner, SHT_SYMTAB, versions, table);
        sym_elf_close(&inner);
    }
    free(bytes);
    return found == -ENOEXEC ? 0 : found;
}
