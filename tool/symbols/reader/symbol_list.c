/* SPDX-License-Identifier: MIT */
/* symbol_list.c - reads the functions of .symtab, and sorts them by address. */
#include "symbols/border/symbol_list.h"

#include "base/budget.h"
#include "symbols/reader/elf_symbols.h"
#include "symbols/reader/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* reader - a list while it is read. */
struct reader {
    struct sym_symbol_list *list;
    struct sym_elf file;
    struct sym_budget budget;
    size_t room;
    const char *source; /* source file of the local symbols that follow */
};

/* Whether the linker kept the relocations of code in the file (--emit-relocs). */
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

static bool
is_too_long(const char *name)
{
    return strnlen(name, SYM_NAME_BYTES_MAX) == SYM_NAME_BYTES_MAX;
}

/* Add a symbol if it is a defined function. One of type STT_FILE names the source file
 * of the local ones that follow. Returns false if memory or the budget ran out. */
static bool
take_symbol(struct reader *reader, const GElf_Sym *symbol, const char *name)
{
    const unsigned char type = GELF_ST_TYPE(symbol->st_info);
    const bool local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL;
    struct sym_symbol_list *const list = reader->list;
    struct sym_symbol *larger;

    if (type == STT_FILE) {
        reader->source = is_too_long(name) ? "" : name;
    }
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
        symbol->st_value == 0 || name[0] == '\0' || is_too_long(name)) {
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

/* Order by address, then global symbols first. */
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

/* Read the functions of .symtab; a file without it has none. Returns 0 or a negative
 * errno. */
static int
read_list(struct reader *reader)
{
    struct sym_symbol_list *const list = reader->list;
    struct sym_elf_symbols symbols;
    const char *name;
    GElf_Sym symbol;
    int error =
        sym_elf_symbols_open(&symbols, &reader->file, SHT_SYMTAB, &reader->budget);

    list->relocations = has_relocations(&reader->file);
    list->strings = symbols.strings;
    for (uint64_t i = 0; error == 0 && sym_elf_symbol(&symbols, i, &symbol, &name);
         i++) {
        if (!take_symbol(reader, &symbol, name)) {
            error = reader->budget.refused ? -EFBIG : -ENOMEM;
        }
    }
    if (list->count > 0) {
        qsort(list->items, list->count, sizeof(*list->items), compare_symbols);
    }
    return error == -ENOENT ? 0 : error;
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
