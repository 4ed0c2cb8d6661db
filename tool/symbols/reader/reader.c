/* SPDX-License-Identifier: MIT */
/*
 * reader.c - names for file offsets of an ELF image.
 *
 * Opening reads headers only. Symbol tables are read at the first lookup, line tables
 * at the first lookup after that which could have one; then neither the file nor libelf
 * is touched for names.
 */
#include "symbols/reader/reader.h"

#include "symbols/border/parts.h"
#include "symbols/reader/debug_file.h"
#include "symbols/reader/elf_symbols.h"
#include "symbols/reader/lines.h"
#include "symbols/reader/unwind.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

struct sym_reader {
    struct sym_elf file;
    int fd;                       /* of the file, unless is_memory */
    struct sym_segment *segments; /* the loadable ones */
    size_t segment_count;
    bool is_memory; /* the image is no file */
    char *path;
    char *root;
    char build_id[2 * SYM_ELF_BUILD_ID_BYTES_MAX + 1];
    bool loaded;
    bool has_symbols;
    bool symbols_refused; /* a table would take too much memory */
    struct sym_table table;
    struct sym_lines *lines;
    struct sym_unwind_tables unwind; /* opened at the first question for them */
    struct sym_reader_settings settings;
    struct sym_budget budget;
    char note[512];
    char bound[512];                         /* the note about the budget */
    struct sym_frame joined[SYM_FRAMES_MAX]; /* of the last lookup */
};

/* --- open and close --- */

/* Collect the loadable segments. Returns false if memory runs out. */
static bool
read_segments(struct sym_reader *image)
{
    image->segments = calloc(image->file.segment_count + 1, sizeof(*image->segments));
    for (size_t i = 0; image->segments != NULL && i < image->file.segment_count; i++) {
        const GElf_Phdr *const header = &image->file.segments[i];

        if (header->p_type == PT_LOAD) {
            image->segments[image->segment_count++] = (struct sym_segment){
                .offset = header->p_offset,
                .bytes = header->p_filesz,
                .address = header->p_vaddr,
                .holds_code = (header->p_flags & PF_X) != 0,
            };
        }
    }
    return image->segments != NULL;
}

static void
read_headers(struct sym_reader *image)
{
    unsigned char id[SYM_ELF_BUILD_ID_BYTES_MAX];
    const size_t id_size = sym_elf_build_id(&image->file, id);

    for (size_t i = 0; i < id_size; i++) {
        snprintf(image->build_id + 2 * i, 3, "%02x", id[i]);
    }
}

/* Complete an image whose file was opened with this error, 0 or a negative errno.
 * Returns the image, or closes it and returns NULL with errno. */
static struct sym_reader *
finish_open(struct sym_reader *image, int error, const char *path, const char *root)
{
    image->path = strdup(path);
    image->root = strdup(root);
    if (error == 0) {
        read_headers(image);
        error = !read_segments(image) || image->path == NULL || image->root == NULL
                    ? -ENOMEM
                    : 0;
    }
    sym_budget_begin(&image->budget, 0);
    image->table.budget = &image->budget;

    if (error != 0) {
        sym_reader_close(image);
        errno = -error;
        return NULL;
    }
    return image;
}

struct sym_reader *
sym_reader_open(int fd, const char *path, const char *root)
{
    struct sym_reader *const image = calloc(1, sizeof(*image));
    int error;

    if (image == NULL) {
        close(fd);
        return NULL;
    }
    error = sym_elf_open(&image->file, fd);
    image->fd = fd;
    return finish_open(image, error, path, root);
}

struct sym_reader *
sym_reader_open_memory(const void *bytes, size_t size, const char *name)
{
    struct sym_reader *const image = calloc(1, sizeof(*image));

    if (image == NULL) {
        return NULL;
    }
    image->is_memory = true;
    return finish_open(image, sym_elf_open_memory(&image->file, bytes, size), name, "");
}

struct sym_reader *
sym_reader_open_vdso(void)
{
    const ElfW(Ehdr) *const header =
        (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);

    /* The vdso ends with its section headers; nothing else says how large it is. */
    return header == NULL || header->e_shoff == 0
               ? NULL
               : sym_reader_open_memory(header,
                                        header->e_shoff + (size_t)header->e_shnum *
                                                              header->e_shentsize,
                                        "[vdso]");
}

void
sym_reader_close(struct sym_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    sym_lines_close(reader->lines);
    sym_unwind_tables_finish(&reader->unwind);
    sym_elf_close(&reader->file);
    if (!reader->is_memory) {
        close(reader->fd);
    }
    sym_table_finish(&reader->table);
    free(reader->segments);
    free(reader->path);
    free(reader->root);
    free(reader);
}

void
sym_reader_configure(struct sym_reader *image,
                     const struct sym_reader_settings *settings)
{
    image->settings = *settings;
    sym_budget_begin(&image->budget, settings->memory_max);
}

const char *
sym_reader_build_id(const struct sym_reader *image)
{
    return image->build_id;
}

/* --- tables --- */

/* Add the symbols of a table. If the budget runs out, all symbols are dropped. Returns
 * as sym_elf_add_symbols, but 0 for that case. */
static int
add_table(struct sym_reader *image, const struct sym_elf *file, uint32_t type,
          const struct sym_elf_versions *versions)
{
    int found = sym_elf_add_symbols(file, type, versions, &image->table);

    if (found == -EFBIG) {
        sym_table_finish(&image->table);
        image->has_symbols = false;
        image->symbols_refused = true;
        found = 0;
    }
    return found;
}

/* Add the symbols of the first full symbol table that there is: that of the image, of
 * its debug file, or the compressed one. Returns as sym_elf_add_symbols. */
static int
add_full_table(struct sym_reader *image, const struct sym_elf *file,
               const struct sym_elf *debug)
{
    struct sym_elf_versions versions;
    int found;

    sym_elf_versions_read(&versions, file);
    found = add_table(image, file, SHT_SYMTAB, &versions);
    if (found == 0 && debug != NULL) {
        found = add_table(image, debug, SHT_SYMTAB, &versions);
    }
    if (found == 0) {
        found = sym_elf_add_mini_debuginfo(file, &versions, &image->table);
    }
    sym_elf_versions_finish(&versions);
    image->has_symbols |= found > 0;
    return found;
}

/* Whether the file is compiled by Go, whose functions are named PACKAGE.NAME: there
 * "main.cold" is no part of a function main. */
static bool
is_go(const struct sym_elf *file)
{
    return sym_elf_find_section(file, ".gopclntab") != 0;
}

/* Read all symbols and bounds of functions into the table. If memory runs out, there
 * are none. debug: the debug file, or NULL. */
static void
load_tables(struct sym_reader *image, const struct sym_elf *file,
            const struct sym_elf *debug)
{
    int found = add_full_table(image, file, debug);

    if (found >= 0) {
        found = add_table(image, file, SHT_DYNSYM, NULL);
        image->has_symbols |= found > 0;
    }
    if (found >= 0) {
        found = sym_elf_add_stubs(file, &image->table);
        found = found < 0 && image->budget.refused ? 0 : found; /* without some stubs */
    }
    if (found >= 0) {
        found = sym_elf_add_unwind(file, &image->table);
        found = found < 0 && image->budget.refused ? 0 : found; /* names are enough */
    }
    if (!is_go(file)) {
        sym_elf_join_parts(&image->table);
    }
    if (found < 0 || !sym_table_build(&image->table, SYM_OVERLAP_INNERMOST)) {
        sym_table_finish(&image->table);
        image->has_symbols = false;
        snprintf(image->note, sizeof(image->note),
                 "no memory for the symbols of %s: addresses are shown instead",
                 image->path);
    }
}

/* Whether a file has symbols and lines itself, and so needs no debug file. */
static bool
is_complete(const struct sym_elf *file)
{
    return sym_elf_find_section(file, ".symtab") != 0 &&
           sym_elf_find_section(file, ".debug_line") != 0;
}

/* Open the lines of the image itself, or else of its debug file. */
static void
load_lines(struct sym_reader *image, const struct sym_elf *file,
           const struct sym_elf *debug, const struct sym_debug_file *found)
{
    struct sym_lines_source source = {
        .file = file,
        .root = image->root,
        .path = image->path,
        .image = image->path,
        .files = &image->settings.files,
        .budget = &image->budget,
        .discriminators = image->settings.discriminators,
    };

    if (image->settings.no_lines) {
        return;
    }
    image->lines = sym_lines_open(&source, image->note, sizeof(image->note));
    if (image->lines == NULL && debug != NULL) {
        source.file = debug;
        source.root = found->root;
        source.path = found->path;
        image->lines = sym_lines_open(&source, image->note, sizeof(image->note));
    }
}

static void
load_with_debug_file(struct sym_reader *image, const struct sym_elf *file)
{
    struct sym_debug_file found = {.fd = -1, .root = ""};
    struct sym_elf debug;

    if (!image->is_memory && !is_complete(file)) {
        sym_debug_file_open(file, image->path, image->root, &image->settings.files,
                            &found, image->note, sizeof(image->note));
    }
    if (found.fd < 0 || sym_elf_open(&debug, found.fd) != 0) {
        load_tables(image, file, /* debug */ NULL);
        load_lines(image, file, /* debug */ NULL, /* found */ NULL);
    } else {
        load_tables(image, file, &debug);
        load_lines(image, file, &debug, &found);
        sym_elf_close(&debug);
    }
    if (found.fd >= 0) {
        close(found.fd);
    }
}

/* Read the symbols, and open the debug information, once. */
static void
load(struct sym_reader *image)
{
    if (!image->loaded) {
        image->loaded = true;
        load_with_debug_file(image, &image->file);
    }
}

/* --- what was left out --- */

bool
sym_reader_has_symbols(struct sym_reader *image)
{
    load(image);
    return image->has_symbols;
}

bool
sym_reader_is_bounded(const struct sym_reader *image)
{
    return image->budget.refused;
}

/* Describe for people what took too much memory. */
static const char *
describe_bound(struct sym_reader *image)
{
    snprintf(image->bound, sizeof(image->bound),
             "%s of %s would take more than %llu MiB: %s; a larger --max-memory "
             "allows more",
             image->symbols_refused ? "the symbol table" : "the debug information",
             image->path, (unsigned long long)(image->budget.bytes >> 20),
             image->symbols_refused ? "it is left out"
                                    : "code has function names only");
    return image->bound;
}

const char *
sym_reader_note(struct sym_reader *image)
{
    load(image);
    if (sym_reader_is_bounded(image)) {
        return describe_bound(image);
    }
    if (image->note[0] == '\0' && image->lines != NULL) {
        return sym_lines_note(image->lines);
    }
    return image->note;
}

/* --- offsets and addresses --- */

const struct sym_segment *
sym_reader_segments(const struct sym_reader *image, size_t *count)
{
    *count = image->segment_count;
    return image->segments;
}

bool
sym_reader_bucket(const struct sym_reader *image, uint64_t file_offset, uint64_t size,
                  uint64_t *address)
{
    return sym_segments_address(image->segments, image->segment_count, file_offset,
                                size, address);
}

/* --- names --- */

/* Limit of the ranges that are searched for a symbol's ends: symbols inside of another
 * one are few, but a forged table may have many. */
#define INNER_RANGES_MAX 64

/* Get the range of the symbol that a range of the table belongs to, including nested
 * symbols. */
static void
find_code(const struct sym_reader *image, const struct sym_range *found,
          uint64_t *start, uint64_t *end)
{
    const struct sym_range *const first = image->table.ranges;
    const struct sym_range *const limit = first + image->table.range_count;

    *start = found->start;
    *end = found->end;
    for (const struct sym_range *at = found;
         at > first && at[-1].end == at->start && found - at < INNER_RANGES_MAX;) {
        at--;
        *start = at->entry == found->entry ? at->start : *start;
    }
    for (const struct sym_range *at = found;
         at + 1 < limit && at[1].start == at->end && at - found < INNER_RANGES_MAX;) {
        at++;
        *end = at->entry == found->entry ? at->end : *end;
    }
}

size_t
sym_reader_frames(struct sym_reader *image, uint64_t address,
                  const struct sym_frame **frames)
{
    struct sym_frame *found = NULL;
    size_t count = 0;

    load(image);
    if (image->lines != NULL) {
        count = sym_lines_find(image->lines, address, &found);
    }
    *frames = found;
    return count;
}

/* Whether code is a stub that a linker made, which no unit has. That an address is in
 * no unit is known only when all line tables were read. */
static bool
is_stub(const struct sym_range *range)
{
    return range != NULL && range->tag == SYM_TAG_STUB;
}

bool
sym_reader_lookup_address(struct sym_reader *image, uint64_t address,
                          struct sym_name *name)
{
    const struct sym_frame *frames = NULL;
    struct sym_range *range;
    size_t count = 0;

    *name = (struct sym_name){
        .file = "", .definition = "", .address = address, .at = address};
    load(image);
    range = sym_table_find(&image->table, address);
    if (range != NULL) {
        (void)sym_range_name(range, &name->name, &name->system_name);
        name->has_start = true;
        name->start = range->origin;
        find_code(image, range, &name->code_start, &name->code_end);
    }
    if (!is_stub(range)) {
        count = sym_reader_frames(image, address, &frames);
    }
    return sym_name_join(name, frames, count, image->joined);
}

/* The line that starts last in a bucket. */
struct last_line {
    uint64_t start;
};

/* A sym_line_row: keep the largest address of a row. */
static bool
keep_last_line(void *context, uint64_t address, const char *file, uint32_t line)
{
    struct last_line *const last = context;

    (void)file;
    (void)line;
    if (address > last->start) {
        last->start = address;
    }
    return true;
}

uint64_t
sym_reader_named_address(struct sym_reader *image, uint64_t address, uint64_t bytes)
{
    struct last_line last = {.start = address};
    const struct sym_range *range;
    uint64_t end;

    if (bytes > 1 && address <= UINT64_MAX - bytes) {
        load(image);
        end = address + bytes;
        range = sym_table_find_before(&image->table, end);
        if (range != NULL && range->start > address) {
            last.start = range->start;
        }
        /* Behind the last function is padding, which no unit has. */
        if (range != NULL && range->end > last.start && range->end < end) {
            end = range->end;
        }
        if (!is_stub(range)) {
            (void)sym_reader_line_rows(image, last.start, end, keep_last_line, &last);
        }
    }
    return last.start;
}

bool
sym_reader_lookup_bucket(struct sym_reader *image, uint64_t address, uint64_t bytes,
                         struct sym_name *name)
{
    const bool found = sym_reader_lookup_address(
        image, sym_reader_named_address(image, address, bytes), name);

    name->address = address;
    return found;
}

/* --- code --- */

struct sym_code
sym_reader_code(const struct sym_reader *image)
{
    return (struct sym_code){image->file.machine, image->file.wide,
                             image->file.big_endian};
}

size_t
sym_reader_read(const struct sym_reader *image, uint64_t address, void *to, size_t size)
{
    for (size_t i = 0; i < image->file.segment_count; i++) {
        const GElf_Phdr *const segment = &image->file.segments[i];
        const uint64_t inside = address - segment->p_vaddr;

        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
            address >= segment->p_vaddr && inside < segment->p_filesz) {
            const uint64_t left = segment->p_filesz - inside;
            const size_t wanted = left < size ? (size_t)left : size;

            return sym_elf_read(&image->file, segment->p_offset + inside, to, wanted)
                       ? wanted
                       : 0;
        }
    }
    return 0;
}

bool
sym_reader_line_rows(struct sym_reader *image, uint64_t start, uint64_t end,
                     sym_line_row *take, void *context)
{
    load(image);
    return image->lines == NULL ||
           sym_lines_rows(image->lines, start, end, take, context);
}

size_t
sym_reader_unwind(struct sym_reader *image, uint64_t address,
                  struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX])
{
    return sym_unwind_tables_find(&image->unwind, &image->file, &image->budget, address,
                                  rows);
}
