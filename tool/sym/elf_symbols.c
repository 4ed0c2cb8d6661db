/* SPDX-License-Identifier: MIT */
/*
 * elf_symbols.c - reads .symtab and .dynsym: functions, IFUNCs and labels in code; never data.
 */
#include "sym/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>

/* symbol_source - a symbol table and what it refers to. */
struct symbol_source {
    const struct sym_elf *file;
    Elf_Data *symbols;
    Elf_Data *wide_indices; /* SHT_SYMTAB_SHNDX, or NULL */
    const char *strings;    /* NUL-terminated copy, the table's from now on */
    size_t strings_size;
};

/* The decoded table of a section, or NULL. Bounds are checked before libelf allocates. */
static Elf_Data *
section_data(const struct sym_elf *file, size_t index)
{
    if (!sym_elf_section_in_file(file, index) ||
        file->sections[index].sh_size > SYM_ELF_TABLE_BYTES_MAX ||
        (file->sections[index].sh_flags & SHF_COMPRESSED) != 0) {
        return NULL;
    }
    return elf_getdata(elf_getscn(file->elf, index), NULL);
}

static size_t
find_section_of_type(const struct sym_elf *file, uint32_t type)
{
    for (size_t i = 1; i < file->section_count; i++) {
        if (file->sections[i].sh_type == type && sym_elf_section_in_file(file, i)) {
            return i;
        }
    }
    return 0;
}

static Elf_Data *
find_wide_indices(const struct sym_elf *file, size_t symbols)
{
    for (size_t i = 1; i < file->section_count; i++) {
        if (file->sections[i].sh_type == SHT_SYMTAB_SHNDX &&
            file->sections[i].sh_link == symbols) {
            return section_data(file, i);
        }
    }
    return NULL;
}

/* "$x", "$d" and the like mark where code and data begin on ARM and RISC-V; ".L" is a local label. */
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

/* The section that a symbol lies in, or NULL: undefined, absolute, common, or out of range. */
static const GElf_Shdr *
section_of(const struct symbol_source *source, const GElf_Sym *symbol, Elf32_Word wide)
{
    const size_t index = symbol->st_shndx == SHN_XINDEX ? wide : symbol->st_shndx;

    if (index == SHN_UNDEF || index >= source->file->section_count ||
        (symbol->st_shndx >= SHN_LORESERVE && symbol->st_shndx != SHN_XINDEX)) {
        return NULL;
    }
    return &source->file->sections[index];
}

static bool
add_symbol(const struct symbol_source *source, const GElf_Sym *symbol, Elf32_Word wide,
           struct sym_table *table)
{
    const GElf_Shdr *section = section_of(source, symbol, wide);
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

static int
add_all(const struct symbol_source *source, struct sym_table *table)
{
    const size_t entry_size = gelf_fsize(source->file->elf, ELF_T_SYM, 1, EV_CURRENT);
    const size_t count = entry_size == 0 ? 0 : source->symbols->d_size / entry_size;

    for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
        GElf_Sym symbol;
        Elf32_Word wide = 0;

        if (gelf_getsymshndx(source->symbols, source->wide_indices, (int)i, &symbol,
                             &wide) == NULL) {
            break;
        }
        if (!add_symbol(source, &symbol, wide, table)) {
            return -ENOMEM;
        }
    }
    return 1;
}

int
sym_elf_add_symbols(const struct sym_elf *file, uint32_t section_type,
                    struct sym_table *table)
{
    const size_t index = find_section_of_type(file, section_type);
    struct symbol_source source = {.file = file};
    char *strings;

    if (index == 0) {
        return 0;
    }
    strings = sym_elf_section_copy(file, file->sections[index].sh_link,
                                   SYM_ELF_TABLE_BYTES_MAX, &source.strings_size);
    if (strings == NULL) {
        return 0;
    }
    if (!sym_table_own(table, strings)) {
        return -ENOMEM;
    }
    source.strings = strings;
    source.symbols = section_data(file, index);
    if (source.symbols == NULL || source.symbols->d_buf == NULL) {
        return 0;
    }
    source.wide_indices = find_wide_indices(file, index);
    return add_all(&source, table);
}
