/* SPDX-License-Identifier: MIT */
/*
 * elf.c - fuzz target: names, addresses and lines of a forged ELF image.
 */
#include "symbols/client/symbol_list.h"
#include "symbols/reader/reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_name(const struct sym_name *name, bool named)
{
    if (named != (name->name != NULL) || name->file == NULL ||
        name->definition == NULL ||
        (named && (strlen(name->name) == 0 || strlen(name->system_name) == 0))) {
        abort();
    }
}

/* Symbols in order, with names that end. */
static bool
lookup(struct sym_reader *image, uint64_t file_offset, struct sym_name *name)
{
    uint64_t address;

    *name = (struct sym_name){.file = "", .definition = ""};
    if (!sym_reader_bucket(image, file_offset, 1, &address)) {
        return false;
    }
    return sym_reader_lookup_address(image, address, name);
}

static void
check_symbols(const uint8_t *data, size_t size)
{
    const int fd = memfd_create("forged", MFD_CLOEXEC);
    struct sym_symbol_list list;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    if (sym_reader_symbol_list(fd, UINT64_C(16) << 20, &list) == 0) {
        for (size_t i = 0; i < list.count; i++) {
            if ((i > 0 && list.items[i].start < list.items[i - 1].start) ||
                strlen(list.items[i].name) == 0 || list.items[i].file == NULL) {
                abort();
            }
        }
    }
    sym_symbol_list_finish(&list);
    close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sym_reader_settings settings = {.discriminators = true};
    struct sym_reader *image = sym_reader_open_memory(data, size, "/nowhere/forged");
    const size_t step = size / 128 + 1;

    if (image == NULL) {
        return 0;
    }
    if (strspn(sym_reader_build_id(image), "0123456789abcdef") !=
        strlen(sym_reader_build_id(image))) {
        abort();
    }
    sym_reader_configure(image, &settings);
    (void)sym_reader_has_symbols(image);
    for (uint64_t offset = 0; offset < size; offset += step) {
        struct sym_name name;

        const struct sym_frame *frames;
        size_t count;

        check_name(&name, lookup(image, offset, &name));
        count = sym_reader_frames(image, offset, &frames);
        for (size_t i = 0; i < count; i++) {
            if (frames[i].name == NULL || frames[i].system_name == NULL ||
                frames[i].file == NULL || frames[i].definition == NULL) {
                abort();
            }
        }
    }
    sym_reader_close(image);
    check_symbols(data, size);
    return 0;
}
