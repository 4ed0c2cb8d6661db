/* SPDX-License-Identifier: MIT */
/*
 * mini_debuginfo.c - the xz-compressed ELF file inside .gnu_debugdata, which holds a
 * .symtab.
 */
#include "sym/elf_symbols.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

/* The largest real ones unpack to some 20 MB; a bomb gets no further than this. */
#define UNPACKED_BYTES_MAX (UINT64_C(1) << 28)
#define DICTIONARY_BYTES_MAX (UINT64_C(1) << 27)
#define PACKED_BYTES_MAX (UINT64_C(1) << 28)

static uint64_t
smaller(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

/* Doubles the room; false at the limit. */
static bool
grow(lzma_stream *stream, unsigned char **bytes, size_t *room, uint64_t limit)
{
    const size_t larger_room = *room == 0 ? 65536 : *room * 2;
    unsigned char *larger;

    if (larger_room > limit) {
        return false;
    }
    larger = realloc(*bytes, larger_room);
    if (larger == NULL) {
        return false;
    }
    stream->next_out = larger + *room;
    stream->avail_out = larger_room - *room;
    *bytes = larger;
    *room = larger_room;
    return true;
}

/* malloc'd, or NULL if it is no whole xz stream or too large. A quarter of limit each
 * is for what comes out, twice while it grows, and for the dictionary. */
static unsigned char *
unpack(const char *packed, size_t packed_size, uint64_t limit, size_t *size)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    unsigned char *bytes = NULL;
    size_t room = 0;
    lzma_ret result = LZMA_OK;

    if (lzma_stream_decoder(&stream, smaller(limit / 4, DICTIONARY_BYTES_MAX), 0) !=
        LZMA_OK) {
        return NULL;
    }
    stream.next_in = (const unsigned char *)packed;
    stream.avail_in = packed_size;
    while (result == LZMA_OK &&
           (stream.avail_out > 0 ||
            grow(&stream, &bytes, &room, smaller(limit / 4, UNPACKED_BYTES_MAX)))) {
        result = lzma_code(&stream, LZMA_FINISH);
    }
    *size = room - stream.avail_out;
    lzma_end(&stream);
    if (result != LZMA_STREAM_END) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

int
sym_elf_add_mini_debuginfo(const struct sym_elf *file, struct sym_table *table)
{
    const size_t index = sym_elf_find_section(file, ".gnu_debugdata");
    struct sym_elf inner;
    unsigned char *bytes;
    char *packed;
    size_t size;
    int found;

    packed =
        index == 0
            ? NULL
            : sym_elf_section_copy(
                  file, index,
                  smaller(sym_budget_left(table->budget) / 4, PACKED_BYTES_MAX), &size);
    if (packed == NULL) {
        return 0;
    }
    bytes = unpack(packed, size, sym_budget_left(table->budget), &size);
    free(packed);
    if (bytes == NULL) {
        return 0;
    }
    found = sym_elf_open_memory(&inner, bytes, size);
    if (found == 0) {
        found = sym_elf_add_symbols(&inner, SHT_SYMTAB, table);
        sym_elf_close(&inner);
    }
    free(bytes);
    return found == -ENOEXEC ? 0 : found;
}
