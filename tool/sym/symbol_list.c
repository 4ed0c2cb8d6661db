/* SPDX-License-Identifier: MIT */
/* symbol_list.c - see symbol_list.h. */
#include "sym/symbol_list.h"

#include "sym/budget.h"
#include "sym/elf_symbols.h"
#include "sym/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Symbols that are read at once. */
enum { SYMBOLS_AT_ONCE = 1024 };

/* reader - a list while it is read. */
struct reader {
    struct sym_symbol_list *list;
    struct sym_elf file;
    struct sym_budget budget;
    size_t room;
    size_t strings_size;
    const char *source; /* the file that local symbols are of */
};

/* Does the file keep relocations of code, which it needs no more? */
static bool
has_relocations(const struct sym_elf *file)
{
    for (size_t i = 1; i < file->section_count; i++) {
        const GElf_Shdr *const section = &file->sections[i];
        const uint64_t of = section->sh_info;

        if ((section->sh_type == SHT_RELA || section->sh_type == SHT_REL) &&
            (section->sh_flags & SHF_ALLOC) == 0 && of > 0 &&
            of < file->section_count &&
            (file->sections[of].sh_flags & SHF_EXECINSTR) != 0) {
            return true;
        }
    }
    return false;
}

static int
read_strings(struct reader *reader, size_t index)
{
    const struct sym_elf *const file = &reader->file;

    if (!sym_elf_section_in_file(file, index)) {
        return -EIO;
    }
    if (!sym_budget_take(&reader->budget, file->sections[index].sh_size)) {
        return -EFBIG;
    }
    reader->list->strings = sym_elf_section_copy(file, index, SYM_ELF_TABLE_BYTES_MAX,
                                                 &reader->strings_size);
    return reader->list->strings == NULL ? -EIO : 0;
}

/* False: it is more than the budget has. */
static bool
take_symbol(struct reader *reader, const GElf_Sym *symbol)
{
    const unsigned char type = GELF_ST_TYPE(symbol->st_info);
    const bool local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL;
    struct sym_symbol_list *const list = reader->list;
    struct sym_symbol *larger;
    const char *name;

    if (symbol->st_name >= reader->strings_size) {
        return true;
    }
    name = list->strings + symbol->st_name;
    if (type == STT_FILE) {
        reader->source = name;
    }
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
        symbol->st_value == 0 || name[0] == '\0') {
        return true;
    }
    larger = sym_budget_grow(&reader->budget, list->items, list->count, &reader->room,
                             sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    list->items = larger;
    list->items[list->count++] = (struct sym_symbol){
        .start = symbol->st_value,
        .size = symbol->st_size,
        .name = name,
        .file = local ? reader->source : "",
        .local = local,
    };
    return true;
}

static int
read_symbols(struct reader *reader, size_t index)
{
    const struct sym_elf *const file = &reader->file;
    const size_t size = file->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    const uint64_t count = file->sections[index].sh_size / size;
    unsigned char bytes[SYMBOLS_AT_ONCE * sizeof(Elf64_Sym)];

    for (uint64_t at = 0; at < count; at += SYMBOLS_AT_ONCE) {
        const uint64_t some =
            count - at < SYMBOLS_AT_ONCE ? count - at : SYMBOLS_AT_ONCE;

        if (!sym_elf_read(file, file->sections[index].sh_offset + at * size, bytes,
                          some * size)) {
            return -EIO;
        }
        for (uint64_t i = 0; i < some; i++) {
            const GElf_Sym symbol = sym_elf_decode_symbol(file, bytes + i * size);

            if (!take_symbol(reader, &symbol)) {
                return reader->budget.refused ? -EFBIG : -ENOMEM;
            }
        }
    }
    return 0;
}

/* Of names at one address global ones come first. */
static int
compare_symbols(const void *left, const void *right)
{
    const struct sym_symbol *const a = left;
    const struct sym_symbol *const b = right;

    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    if (a->local != b->local) {
        return a->local ? 1 : -1;
    }
    return strcmp(a->name, b->name);
}

static int
read_list(struct reader *reader)
{
    const size_t index = sym_elf_find_type(&reader->file, SHT_SYMTAB);
    int error;

    reader->list->relocations = has_relocations(&reader->file);
    if (index == 0 || (reader->file.sections[index].sh_flags & SHF_COMPRESSED) != 0) {
        return 0;
    }
    error = read_strings(reader, reader->file.sections[index].sh_link);
    if (error == 0) {
        error = read_symbols(reader, index);
    }
    if (reader->list->count > 0) {
        qsort(reader->list->items, reader->list->count, sizeof(*reader->list->items),
              compare_symbols);
    }
    return error;
}

int
sym_reader_symbol_list(int fd, uint64_t bytes, struct sym_symbol_list *list)
{
    struct reader reader = {.list = list, .source = ""};
    int error;

    *list = (struct sym_symbol_list){.count = 0};
    sym_budget_begin(&reader.budget, bytes);
    error = sym_elf_open(&reader.file, fd);
    if (error == 0) {
        error = read_list(&reader);
        sym_elf_close(&reader.file);
    }
    return error;
}

void
sym_symbol_list_finish(struct sym_symbol_list *list)
{
    free(list->items);
    free(list->strings);
    wire_names_finish(&list->names);
    *list = (struct sym_symbol_list){.count = 0};
}
