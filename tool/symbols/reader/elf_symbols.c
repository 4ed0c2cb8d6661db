/* SPDX-License-Identifier: MIT */
/*
 * elf_symbols.c - reads .symtab and .dynsym: functions, IFUNCs and labels in code;
 * never data.
 */
#include "symbols/reader/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>

int
sym_elf_symbols_open(struct sym_elf_symbols *symbols, const struct sym_elf *file,
                     uint32_t type, struct sym_budget *budget)
{
    size_t index = 1;
    uint64_t size;

    *symbols = (struct sym_elf_symbols){.data = NULL};
    while (index < file->section_count && (file->sections[index].sh_type != type ||
                                           !sym_elf_section_in_file(file, index))) {
        index++;
    }
    if (index >= file->section_count ||
        (file->sections[index].sh_flags & SHF_COMPRESSED) != 0) {
        return -ENOENT;
    }
    symbols->data = elf_getdata(elf_getscn(file->elf, index), NULL);
    index = file->sections[index].sh_link;
    if (symbols->data == NULL || !sym_elf_section_in_file(file, index)) {
        return -EIO;
    }
    size = file->sections[index].sh_size;
    if (!sym_budget_take(budget, size)) {
        return -EFBIG;
    }
    symbols->strings = sym_elf_section_copy(file, index, SYM_ELF_TABLE_BYTES_MAX,
                                            &symbols->strings_size);
    if (symbols->strings == NULL) {
        sym_budget_give(budget, size);
    }
    return symbols->strings == NULL ? -EIO : 0;
}

bool
sym_elf_symbol(const struct sym_elf_symbols *symbols, uint64_t index, GElf_Sym *symbol,
               const char **name)
{
    if (index > INT32_MAX || gelf_getsym(symbols->data, (int)index, symbol) == NULL) {
        return false;
    }
    *name = symbol->st_name < symbols->strings_size ? symbols->strings + symbol->st_name
                                                    : "";
    return true;
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
section_of(const struct sym_elf *file, const GElf_Sym *symbol)
{
    return symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE ||
                   symbol->st_shndx >= file->section_count
               ? NULL
               : &file->sections[symbol->st_shndx];
}

static bool
add_symbol(const struct sym_elf *file, const GElf_Sym *symbol, const char *name,
           struct sym_table *table)
{
    const GElf_Shdr *section = section_of(file, symbol);
    struct sym_entry entry = {
        .start = symbol->st_value,
        .name = name,
        .rank = rank_of_binding(GELF_ST_BIND(symbol->st_info)),
        .sized = symbol->st_size > 0,
    };
    uint64_t section_end;

    if (section == NULL ||
        !names_code(GELF_ST_TYPE(symbol->st_info), section, entry.name)) {
        return true;
    }
    if (file->machine == EM_ARM) {
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

int
sym_elf_add_symbols(const struct sym_elf *file, uint32_t type, struct sym_table *table)
{
    const bool refused = table->budget != NULL && table->budget->refused;
    struct sym_elf_symbols symbols;
    const char *name;
    GElf_Sym symbol;
    bool added;
    int error = sym_elf_symbols_open(&symbols, file, type, NULL);

    if (error != 0) {
        return error == -ENOENT || error == -EIO ? 0 : error;
    }
    added = sym_table_own(table, symbols.strings) &&
            sym_table_take(table, symbols.strings_size);
    for (uint64_t i = 0; added && sym_elf_symbol(&symbols, i, &symbol, &name); i++) {
        added = add_symbol(file, &symbol, name, table);
    }
    if (!added) {
        return table->budget != NULL && table->budget->refused && !refused ? -EFBIG
                                                                           : -ENOMEM;
    }
    return 1;
}
