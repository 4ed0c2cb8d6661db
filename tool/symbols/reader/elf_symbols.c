/* SPDX-License-Identifier: MIT */
/*
 * elf_symbols.c - reads .symtab and .dynsym: functions, IFUNCs and labels in code;
 * never data.
 */
#include "symbols/reader/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>

/* Copy size bytes of names, and take them from the budget. Returns as
 * sym_elf_symbols_open. */
static int
copy_strings(struct sym_elf_symbols *symbols, const struct sym_elf *file,
             uint64_t offset, uint64_t size, struct sym_budget *budget)
{
    if (!sym_budget_take(budget, size)) {
        return -EFBIG;
    }
    symbols->strings = size > SYM_ELF_TABLE_BYTES_MAX ? NULL : malloc((size_t)size + 1);
    if (symbols->strings == NULL ||
        !sym_elf_read(file, offset, symbols->strings, (size_t)size)) {
        free(symbols->strings);
        symbols->strings = NULL;
        sym_budget_give(budget, size);
        return -EIO;
    }
    symbols->strings[size] = '\0';
    symbols->strings_size = (size_t)size;
    return 0;
}

/* Open the dynamic symbols of a file that has no sections any more. Returns as
 * sym_elf_symbols_open. */
static int
open_dynamic(struct sym_elf_symbols *symbols, const struct sym_elf *file,
             struct sym_budget *budget)
{
    const uint64_t bytes = file->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    struct sym_elf_dynamic dynamic;
    uint64_t offset;
    uint64_t left;
    uint64_t count;

    if (!sym_elf_dynamic_read(&dynamic, file) || dynamic.symbols == 0 ||
        dynamic.symbol_bytes != bytes) {
        return -ENOENT;
    }
    count = sym_elf_dynamic_count(&dynamic, file);
    if (count == 0 || count > INT32_MAX ||
        !sym_elf_find_offset(file, dynamic.symbols, &offset, &left) ||
        left / bytes < count) {
        return -EIO;
    }
    symbols->data = elf_getdata_rawchunk(file->elf, (int64_t)offset,
                                         (size_t)(count * bytes), ELF_T_SYM);
    if (symbols->data == NULL ||
        !sym_elf_find_offset(file, dynamic.strings, &offset, &left) ||
        left < dynamic.strings_size) {
        return -EIO;
    }
    return copy_strings(symbols, file, offset, dynamic.strings_size, budget);
}

int
sym_elf_symbols_open(struct sym_elf_symbols *symbols, const struct sym_elf *file,
                     uint32_t type, struct sym_budget *budget)
{
    size_t index = 1;

    *symbols = (struct sym_elf_symbols){.data = NULL};
    if (file->section_count == 0 && type == SHT_DYNSYM) {
        return open_dynamic(symbols, file, budget);
    }
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
    if (symbols->data == NULL || !sym_elf_section_in_file(file, index) ||
        (file->sections[index].sh_flags & SHF_COMPRESSED) != 0) {
        return -EIO;
    }
    return copy_strings(symbols, file, file->sections[index].sh_offset,
                        file->sections[index].sh_size, budget);
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

/* Whether a name is not that of a function: "$x", "$d" and the like mark where code and
 * data begin on ARM and RISC-V, and ".L" begins local labels. */
static bool
is_mark(const char *name)
{
    return name[0] == '$' || (name[0] == '.' && name[1] == 'L');
}

/* area - what a symbol lies in: a section, or a segment of a file without sections. */
struct area {
    uint64_t start;
    uint64_t end;
    bool loaded;
    bool code;
};

/* Whether a symbol of this type names code. One without a type does if it is in code
 * and no mark. */
static bool
names_code(unsigned char type, const struct area *area, const char *name)
{
    if (!area->loaded) {
        return false;
    }
    if (type == STT_FUNC || type == STT_GNU_IFUNC) {
        return true;
    }
    return type == STT_NOTYPE && area->code && !is_mark(name);
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

/* Return the executable segment of an address; if there is none, loaded is false. */
static struct area
segment_area(const struct sym_elf *file, uint64_t address)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const GElf_Phdr *const segment = &file->segments[i];

        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
            address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_memsz) {
            return (struct area){segment->p_vaddr,
                                 end_of(segment->p_vaddr, segment->p_memsz), true,
                                 true};
        }
    }
    return (struct area){.loaded = false};
}

/* Return the section of a symbol, or the segment if there are no sections. loaded is
 * false if the symbol is undefined, absolute, common, or of a file with 65,280
 * sections, which no linker makes. */
static struct area
area_of(const struct sym_elf *file, const GElf_Sym *symbol)
{
    const GElf_Shdr *section;

    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE) {
        return (struct area){.loaded = false};
    }
    if (file->section_count == 0) {
        return segment_area(file, symbol->st_value);
    }
    if (symbol->st_shndx >= file->section_count) {
        return (struct area){.loaded = false};
    }
    section = &file->sections[symbol->st_shndx];
    return (struct area){section->sh_addr, end_of(section->sh_addr, section->sh_size),
                         (section->sh_flags & SHF_ALLOC) != 0,
                         (section->sh_flags & SHF_EXECINSTR) != 0};
}

/* Add a symbol to the table if it names code. entry has its name, tag and group.
 * Returns false if memory or the budget ran out. */
static bool
add_symbol(const struct sym_elf *file, const GElf_Sym *symbol, struct sym_entry entry,
           struct sym_table *table)
{
    const struct area area = area_of(file, symbol);

    entry.start = symbol->st_value;
    entry.rank = rank_of_binding(GELF_ST_BIND(symbol->st_info));
    entry.sized = symbol->st_size > 0;
    entry.chooses = GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
    if (!names_code(GELF_ST_TYPE(symbol->st_info), &area, entry.name)) {
        return true;
    }
    if (file->machine == EM_ARM) {
        entry.start &= ~UINT64_C(1); /* the lowest bit says Thumb */
    }
    if (entry.start < area.start || entry.start >= area.end) {
        return true;
    }
    entry.end = entry.sized ? end_of(entry.start, symbol->st_size) : area.end;
    if (entry.end > area.end) {
        entry.end = area.end;
    }
    return sym_table_add(table, &entry);
}

/* Add all symbols to the table. Local ones follow the symbol of their source file,
 * which begins a group. Returns false if memory or the budget ran out. */
static bool
add_all(const struct sym_elf *file, const struct sym_elf_symbols *symbols,
        const struct sym_elf_versions *versions, struct sym_table *table)
{
    struct sym_entry entry = {.start = 0};
    bool added = true;
    GElf_Sym symbol;

    for (uint64_t i = 0; added && sym_elf_symbol(symbols, i, &symbol, &entry.name);
         i++) {
        entry.group += GELF_ST_TYPE(symbol.st_info) == STT_FILE;
        entry.tag = versions != NULL && sym_elf_versions_end(versions, entry.name)
                        ? SYM_TAG_VERSIONED
                        : 0;
        added = add_symbol(file, &symbol, entry, table);
    }
    return added;
}

int
sym_elf_add_symbols(const struct sym_elf *file, uint32_t type,
                    const struct sym_elf_versions *versions, struct sym_table *table)
{
    const bool refused = table->budget != NULL && table->budget->refused;
    struct sym_elf_symbols symbols;
    bool added;
    /* Without a budget: the table takes the memory of the names from its own. */
    int error = sym_elf_symbols_open(&symbols, file, type, /* budget */ NULL);

    if (error != 0) {
        return error == -ENOENT || error == -EIO ? 0 : error;
    }
    added = sym_table_own(table, symbols.strings) &&
            sym_table_take(table, symbols.strings_size) &&
            add_all(file, &symbols, versions, table);
    if (!added) {
        return table->budget != NULL && table->budget->refused && !refused ? -EFBIG
                                                                           : -ENOMEM;
    }
    return 1;
}
