/* SPDX-License-Identifier: MIT */
/*
 * elf_stubs.c - names PLT stubs after the functions that they jump to.
 *
 * On x86-64 and AArch64 a stub has 16 bytes, and stubs end with their section, .plt or
 * .plt.sec, in the order of their slots in .got.plt, where the relocations of .rela.plt
 * are. Others, such as those of .plt.got, or beside the code of TLS descriptors, which
 * also ends with .plt, and every other machine go without.
 */
#include "symbols/reader/elf_symbols.h"

#include <errno.h>

enum { STUB_BYTES = 16, SLOT_BYTES = 8 };

/* stubs - the relocations that they belong to. */
struct stubs {
    Elf_Data *relocations;
    uint64_t count;
    uint64_t first_slot;
    struct sym_elf_symbols symbols;
};

static bool
read_relocation(const struct stubs *stubs, uint64_t index, GElf_Rela *relocation)
{
    return index < INT32_MAX &&
           gelf_getrela(stubs->relocations, (int)index, relocation) != NULL;
}

/* Returns false if there are TLS descriptors. */
static bool
count_relocations(struct stubs *stubs)
{
    GElf_Rela relocation;

    stubs->first_slot = UINT64_MAX;
    while (read_relocation(stubs, stubs->count, &relocation)) {
        const uint64_t type = GELF_R_TYPE(relocation.r_info);

        if (type == R_X86_64_TLSDESC || type == R_AARCH64_TLSDESC) {
            return false;
        }
        stubs->count++;
        if (relocation.r_offset < stubs->first_slot) {
            stubs->first_slot = relocation.r_offset;
        }
    }
    return true;
}

static bool
add_section(const struct sym_elf *file, const char *name, const struct stubs *stubs,
            struct sym_table *table)
{
    const GElf_Shdr *const section = &file->sections[sym_elf_find_section(file, name)];
    const uint64_t end = section->sh_addr + section->sh_size;
    GElf_Rela relocation;
    GElf_Sym symbol;

    if (section->sh_size / STUB_BYTES < stubs->count || end < section->sh_addr ||
        section->sh_entsize > STUB_BYTES) {
        return true;
    }
    for (uint64_t i = 0; read_relocation(stubs, i, &relocation); i++) {
        const uint64_t slot = (relocation.r_offset - stubs->first_slot) / SLOT_BYTES;
        struct sym_entry stub = {
            .tag = SYM_TAG_STUB, .rank = SYM_RANK_LOCAL, .sized = true};

        if (slot >= stubs->count || GELF_R_SYM(relocation.r_info) == 0 ||
            !sym_elf_symbol(&stubs->symbols, GELF_R_SYM(relocation.r_info), &symbol,
                            &stub.name)) {
            continue;
        }
        stub.start = end - (stubs->count - slot) * STUB_BYTES;
        stub.end = stub.start + STUB_BYTES;
        if (!sym_table_add(table, &stub)) {
            return false;
        }
    }
    return true;
}

int
sym_elf_add_stubs(const struct sym_elf *file, struct sym_table *table)
{
    const size_t index = sym_elf_find_section(file, ".rela.plt");
    struct stubs stubs = {.count = 0};

    if (file->segment_count == 0 || index == 0 ||
        !sym_elf_section_in_file(file, index) ||
        file->sections[index].sh_type != SHT_RELA ||
        (file->machine != EM_X86_64 && file->machine != EM_AARCH64)) {
        return 0;
    }
    stubs.relocations = elf_getdata(elf_getscn(file->elf, index), NULL);
    if (stubs.relocations == NULL ||
        sym_elf_symbols_open(&stubs.symbols, file, SHT_DYNSYM, NULL) != 0) {
        return 0;
    }
    return sym_table_own(table, stubs.symbols.strings) &&
                   (!count_relocations(&stubs) ||
                    (add_section(file, ".plt", &stubs, table) &&
                     add_section(file, ".plt.sec", &stubs, table)))
               ? 1
               : -ENOMEM;
}
