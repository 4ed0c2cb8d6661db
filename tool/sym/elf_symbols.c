/* SPDX-License-Identifier: MIT */
/*
 * elf_symbols.c - reads .symtab and .dynsym: functions, IFUNCs and labels in code;
 * never data.
 */
#include "sym/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>

/* Symbols that are read at once. */
enum { SYMBOLS_AT_ONCE = 1024 };

/* symbol_source - a symbol table and what it refers to. */
struct symbol_source {
    const struct sym_elf *file;
    uint64_t symbols; /* where they begin in the file */
    uint64_t count;
    const char *strings; /* NUL-terminated copy, the table's from now on */
    size_t strings_size;
};

size_t
sym_elf_find_type(const struct sym_elf *file, uint32_t type)
{
    for (size_t i = 1; i < file->section_count; i++) {
        if (file->sections[i].sh_type == type && sym_elf_section_in_file(file, i)) {
            return i;
        }
    }
    return 0;
}

/* "$x", "$d" and the like mark where code and data begin on ARM and RISC-V; ".L" is a
 * local label. */
static bool
is_mark(const char *name)
{
    return name[0] == '$' || (name[0] == '.' && name[1] == 'L');
}

static bool
names_code(unsigned char type, const GElf_Shdr *section, const char *name)
{
    if ((section->sh_flags & SHF_ALLOC) == 0) {
        return false;
    }
    if (type == STT_FUNC || type == STT_GNU_IFUNC) {
        return true;
    }
    return type == STT_NOTYPE && (section->sh_flags & SHF_EXECINSTR) != 0 &&
           !is_mark(name);
}

static uint8_t
rank_of_binding(unsigned char binding)
{
    switch (binding) {
    case STB_GLOBAL:
    case STB_GNU_UNIQUE:
        return SYM_RANK_GLOBAL;
    case STB_WEAK:
        return SYM_RANK_WEAK;
    default:
        return SYM_RANK_LOCAL;
    }
}

static uint64_t
end_of(uint64_t start, uint64_t size)
{
    return size <= UINT64_MAX - start ? start + size : UINT64_MAX;
}

/* The section that a symbol lies in, or NULL: undefined, absolute, common, or of a file
 * with 65,280 sections, which no linker makes. */
static const GElf_Shdr *
section_of(const struct symbol_source *source, const GElf_Sym *symbol)
{
    return symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE ||
                   symbol->st_shndx >= source->file->section_count
               ? NULL
               : &source->file->sections[symbol->st_shndx];
}

static bool
add_symbol(const struct symbol_source *source, const GElf_Sym *symbol,
           struct sym_table *table)
{
    const GElf_Shdr *section = section_of(source, symbol);
    struct sym_entry entry;
    uint64_t section_end;

    if (section == NULL || symbol->st_name >= source->strings_size) {
        return true;
    }
    entry = (struct sym_entry){
        .start = symbol->st_value,
        .name = source->strings + symbol->st_name,
        .rank = rank_of_binding(GELF_ST_BIND(symbol->st_info)),
        .sized = symbol->st_size > 0,
    };
    if (!names_code(GELF_ST_TYPE(symbol->st_info), section, entry.name)) {
        return true;
    }
    if (source->file->machine == EM_ARM) {
        entry.start &= ~UINT64_C(1); /* the lowest bit says Thumb */
    }
    section_end = end_of(section->sh_addr, section->sh_size);
    if (entry.start < section->sh_addr || entry.start >= section_end) {
        return true;
    }
    entry.end = entry.sized ? end_of(entry.start, symbol->st_size) : section_end;
    if (entry.end > section_end) {
        entry.end = section_end;
    }
    return sym_table_add(table, &entry);
}

GElf_Sym
sym_elf_decode_symbol(const struct sym_elf *file, const unsigned char *bytes)
{
    GElf_Sym symbol;

    if (file->wide) {
        symbol.st_name = (Elf64_Word)sym_elf_integer(file, bytes, 4);
        symbol.st_info = bytes[4];
        symbol.st_other = bytes[5];
        symbol.st_shndx = (Elf64_Section)sym_elf_integer(file, bytes + 6, 2);
        symbol.st_value = sym_elf_integer(file, bytes + 8, 8);
        symbol.st_size = sym_elf_integer(file, bytes + 16, 8);
    } else {
        symbol.st_name = (Elf64_Word)sym_elf_integer(file, bytes, 4);
        symbol.st_value = sym_elf_integer(file, bytes + 4, 4);
        symbol.st_size = sym_elf_integer(file, bytes + 8, 4);
        symbol.st_info = bytes[12];
        symbol.st_other = bytes[13];
        symbol.st_shndx = (Elf64_Section)sym_elf_integer(file, bytes + 14, 2);
    }
    return symbol;
}

/* Symbols from first on, at most as many as are read at once. 0, or a negative errno.
 */
static int
add_some(const struct symbol_source *source, uint64_t first, uint64_t count,
         struct sym_table *table)
{
    const struct sym_elf *const file = source->file;
    const size_t size = file->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    unsigned char symbols[SYMBOLS_AT_ONCE * sizeof(Elf64_Sym)];

    if (!sym_elf_read(file, source->symbols + first * size, symbols, count * size)) {
        return -EIO;
    }
    for (uint64_t i = 0; i < count; i++) {
        const GElf_Sym symbol = sym_elf_decode_symbol(file, symbols + i * size);

        if (!add_symbol(source, &symbol, table)) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* What cannot be read ends the table; what stands before is used. */
static int
add_all(const struct symbol_source *source, struct sym_table *table)
{
    int error = 0;

    for (uint64_t at = 0; error == 0 && at < source->count; at += SYMBOLS_AT_ONCE) {
        const uint64_t left = source->count - at;

        error = add_some(source, at, left < SYMBOLS_AT_ONCE ? left : SYMBOLS_AT_ONCE,
                         table);
    }
    return error == -ENOMEM ? error : 1;
}

/* Names are taken from the budget: 0, 1 if there are none, or a negative errno. */
static int
copy_strings(struct symbol_source *source, size_t index, struct sym_table *table)
{
    const struct sym_elf *const file = source->file;
    char *strings;

    if (!sym_elf_section_in_file(file, index)) {
        return 1;
    }
    if (!sym_table_take(table, file->sections[index].sh_size)) {
        return -ENOMEM;
    }
    strings = sym_elf_section_copy(file, index, SYM_ELF_TABLE_BYTES_MAX,
                                   &source->strings_size);
    if (strings == NULL) {
        return 1;
    }
    source->strings = strings;
    return sym_table_own(table, strings) ? 0 : -ENOMEM;
}

int
sym_elf_add_symbols(const struct sym_elf *file, uint32_t section_type,
                    struct sym_table *table)
{
    const size_t index = sym_elf_find_type(file, section_type);
    const size_t size = file->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    struct symbol_source source = {.file = file};
    const bool refused = table->budget != NULL && table->budget->refused;
    int error;

    if (index == 0 || (file->sections[index].sh_flags & SHF_COMPRESSED) != 0) {
        return 0;
    }
    error = copy_strings(&source, file->sections[index].sh_link, table);
    if (error > 0) {
        return 0;
    }
    if (error == 0) {
        source.symbols = file->sections[index].sh_offset;
        source.count = file->sections[index].sh_size / size;
        error = add_all(&source, table);
    }
    if (error == -ENOMEM && table->budget != NULL && table->budget->refused &&
        !refused) {
        return -EFBIG;
    }
    return error;
}
