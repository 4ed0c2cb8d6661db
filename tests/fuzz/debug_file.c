/* SPDX-License-Identifier: MIT */
/*
 * debug_file.c - fuzz target: what links in a forged image lead to: a debug file, a
 * supplementary file, split units, what a server sends, unpacked sections of a cache.
 *
 * An input is a list of files, each a byte of kind, three bytes of size, lowest first,
 * and its bytes. A name that is looked for is that of the file whose ending it has,
 * wherever that may be. What a cache has is pieces, each an offset in the image of the
 * sections, as long as that of a file, two bytes of size, and bytes that are put there.
 */
#include "symbols/reader/dwarf_image.h"
#include "symbols/reader/elf_file.h"
#include "symbols/reader/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of an image with the bit, the CRC in its debuglink is made that of the debug file,
 * which no fuzzer guesses. */
enum {
    IMAGE,
    DEBUG,
    SUPPLEMENT,
    SPLIT,
    PACKAGE,
    SERVED,
    CACHED,
    FILES,
    KIND_MASK = 7,
    MENDED = 16
};

static const char *const endings[FILES] = {
    [DEBUG] = ".debug", [SUPPLEMENT] = ".sup", [SPLIT] = ".dwo", [PACKAGE] = ".dwp"};

static struct file {
    int fd;
    const uint8_t *bytes; /* of the input */
    size_t size;
} files[FILES];

static void
require(bool good)
{
    if (!good) {
        abort();
    }
}

/* --- what the search calls instead of opening files and asking servers --- */

static int
open_file(void *context, const char *root, const char *path)
{
    const size_t length = strlen(path);

    (void)context;
    require(root != NULL);
    for (size_t i = 0; i < FILES; i++) {
        const size_t ending = endings[i] == NULL ? SIZE_MAX : strlen(endings[i]);

        if (ending < length && strcmp(path + length - ending, endings[i]) == 0 &&
            files[i].size > 0) {
            return dup(files[i].fd);
        }
    }
    return -ENOENT;
}

static int
download_file(void *context, const unsigned char *id, size_t id_size, char *path,
              size_t path_size)
{
    (void)context;
    require(id != NULL && id_size > 0 && path_size > 0);
    path[0] = '\0';
    return files[SERVED].size > 0 ? dup(files[SERVED].fd) : -ENOENT;
}

/* Put the pieces of what a cache has into an image. */
static void
forge(struct sym_dwarf_image *image)
{
    const uint8_t *at = files[CACHED].bytes;
    size_t left = files[CACHED].size;

    while (left >= 5) {
        const size_t offset = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16;
        const size_t wanted = (size_t)at[3] | (size_t)at[4] << 8;
        const size_t taken = wanted < left - 5 ? wanted : left - 5;

        if (offset < image->size && taken <= image->size - offset) {
            memcpy(image->bytes + offset, at + 5, taken);
        }
        at += 5 + taken;
        left -= 5 + taken;
    }
}

/* A cache has what it was given for the file, and then was forged. */
static int
open_unpacked(void *context, int fd, bool split, uint64_t bytes)
{
    struct sym_dwarf_image image = {.bytes = NULL};
    struct sym_budget budget;
    struct sym_elf file;
    char why[256];
    int kept = -ENOENT;

    (void)context;
    sym_budget_begin(&budget, UINT64_C(1) << 24);
    if (sym_elf_open(&file, fd) != 0) {
        return -ENOENT;
    }
    if (sym_dwarf_image_copy(&image, &file, split, NULL, &budget, why, sizeof(why))) {
        require(image.mapped_bytes == 0 && image.size == bytes);
        forge(&image);
        kept = memfd_create("kept", MFD_CLOEXEC);
        require(kept >= 0 &&
                pwrite(kept, image.bytes, image.size, 0) == (ssize_t)image.size);
    }
    sym_dwarf_image_finish(&image);
    sym_elf_close(&file);
    return kept;
}

/* --- files --- */

static void
mend_crc(void)
{
    const uint32_t crc =
        (uint32_t)crc32(0, files[DEBUG].bytes, (uInt)files[DEBUG].size);
    struct sym_elf image;
    size_t index;

    if (sym_elf_open(&image, files[IMAGE].fd) != 0) {
        return;
    }
    index = sym_elf_find_section(&image, ".gnu_debuglink");
    if (index != 0 && sym_elf_section_in_file(&image, index) &&
        image.sections[index].sh_size >= sizeof(crc)) {
        const GElf_Shdr *const section = &image.sections[index];

        require(pwrite(files[IMAGE].fd, &crc, sizeof(crc),
                       (off_t)(section->sh_offset + section->sh_size - sizeof(crc))) ==
                sizeof(crc));
    }
    sym_elf_close(&image);
}

/* Each has bytes of the input alone. */
static void
write_files(void)
{
    for (size_t i = 0; i < FILES; i++) {
        struct file *file = &files[i];

        if (file->fd == 0) {
            file->fd = memfd_create("file", MFD_CLOEXEC);
            require(file->fd > 0);
        }
        require(ftruncate(file->fd, 0) == 0 &&
                pwrite(file->fd, file->bytes, file->size, 0) == (ssize_t)file->size);
    }
}

static void
take_files(const uint8_t *data, size_t size)
{
    bool mended = false;

    for (size_t i = 0; i < FILES; i++) {
        files[i].bytes = data;
        files[i].size = 0;
    }
    while (size >= 4) {
        const size_t wanted =
            (size_t)data[1] | (size_t)data[2] << 8 | (size_t)data[3] << 16;
        const size_t taken = wanted < size - 4 ? wanted : size - 4;
        const unsigned int kind = data[0] & KIND_MASK;

        if (kind < FILES) {
            files[kind].bytes = data + 4;
            files[kind].size = taken;
            mended = kind == IMAGE ? (data[0] & MENDED) != 0 : mended;
        }
        data += 4 + taken;
        size -= 4 + taken;
    }
    write_files();
    if (mended) {
        mend_crc();
    }
}

static bool
take_row(void *context, uint64_t address, const char *file, uint32_t line)
{
    (void)address;
    (void)line;
    require(file != NULL);
    return ++*(size_t *)context < 10000;
}

static bool
lookup(struct sym_reader *image, uint64_t file_offset, struct sym_name *name)
{
    uint64_t address;

    *name = (struct sym_name){.file = ""};
    if (!sym_reader_bucket(image, file_offset, 1, &address)) {
        return false;
    }
    return sym_reader_lookup_address(image, address, name);
}

static void
look_up(struct sym_reader *image, uint64_t offset)
{
    struct sym_name name;
    size_t rows = 0;

    if (lookup(image, offset, &name)) {
        require(name.name[0] != '\0' && name.system_name[0] != '\0');
    }
    require(name.file != NULL);
    for (size_t i = 0; i < name.caller_count; i++) {
        require(name.callers[i].name != NULL && name.callers[i].file != NULL);
    }
    if (name.line > 0) {
        (void)sym_reader_line_rows(image, name.address, name.address + 64, take_row,
                                   &rows);
    }
}

static void
look_through(struct sym_reader *image)
{
    const size_t step = files[IMAGE].size / 256 + 1;

    for (uint64_t offset = 0; offset < files[IMAGE].size; offset += step) {
        look_up(image, offset);
    }
    require(strlen(sym_reader_note(image)) < SIZE_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_reader_settings settings = {.files = {.open = open_file}};
    struct sym_reader *image;

    take_files(data, size);
    settings.files.download = files[SERVED].size > 0 ? download_file : NULL;
    settings.files.unpacked = files[CACHED].size > 0 ? open_unpacked : NULL;
    image = sym_reader_open(dup(files[IMAGE].fd), "/forged/app", "/root");
    if (image != NULL) {
        sym_reader_configure(image, &settings);
        look_through(image);
        sym_reader_close(image);
    }
    return 0;
}
