/* SPDX-License-Identifier: MIT */
/*
 * elf_stubs.c - names PLT stubs after the function whose slot they jump through.
 *
 * On x86-64 the jump in each stub tells its slot, whatever the linker's layout of .plt,
 * .plt.sec and .plt.got; on AArch64 stubs stand in the order of their relocations.
 * Every other machine goes without.
 */
#include "sym/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STUB_BYTES 16u
#define AARCH64_HEADER_BYTES 32u
#define SECTION_BYTES_MAX (UINT64_C(1) << 24)

struct slot {
    uint64_t address; /* of the word in the global offset table */
    uint32_t symbol;  /* index into .dynsym */
};

struct slots {
    struct slot *items;
    size_t count;
    const char *strings;
    size_t strings_size;
    Elf_Data *symbols;
};

static Elf_Data *
checked_data(const struct sym_elf *file, size_t index)
{
    if (index == 0 || !sym_elf_section_in_file(file, index) ||
        file->sections[index].sh_size > SECTION_BYTES_MAX ||
        (file->sections[index].sh_flags & SHF_COMPRESSED) != 0) {
        return NULL;
    }
    return elf_getdata(elf_getscn(file->elf, index), NULL);
}

static int
compare_slots(const void *left, const void *right)
{
    const struct slot *a = left;
    const struct slot *b = right;

    return (a->address > b->address) - (a->address < b->address);
}

/* Appends the relocations of one section. */
static bool
read_relocations(const struct sym_elf *file, const char *name, struct slots *slots)
{
    const size_t index = sym_elf_find_section(file, name);
    Elf_Data *data = checked_data(file, index);
    struct slot *larger;
    GElf_Rela relocation;

    if (data == NULL || file->sections[index].sh_type != SHT_RELA) {
        return true;
    }
    larger =
        realloc(slots->items, (slots->count + data->d_size / sizeof(Elf32_Rela) + 1) *
                                  sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    slots->items = larger;
    for (int i = 0; gelf_getrela(data, i, &relocation) != NULL; i++) {
        const uint32_t symbol = (uint32_t)GELF_R_SYM(relocation.r_info);

        /* Most of a library's are of no symbol. On AArch64 they hold places in the
         * order. */
        if (symbol != 0 || file->machine == EM_AARCH64) {
            slots->items[slots->count++] = (struct slot){relocation.r_offset, symbol};
        }
    }
    return true;
}

static const char *
slot_name(const struct slots *slots, const struct slot *slot)
{
    GElf_Sym symbol;

    if (slot->symbol == 0 || slot->symbol > INT32_MAX ||
        gelf_getsym(slots->symbols, (int)slot->symbol, &symbol) == NULL ||
        symbol.st_name >= slots->strings_size) {
        return "";
    }
    return slots->strings + symbol.st_name;
}

static bool
add_stub(const struct slots *slots, const struct slot *slot, uint64_t address,
         uint64_t size, struct sym_table *table)
{
    return address > UINT64_MAX - size ||
           sym_table_add(table, &(struct sym_entry){.start = address,
                                                    .end = address + size,
                                                    .name = slot_name(slots, slot),
                                                    .tag = SYM_TAG_STUB,
                                                    .rank = SYM_RANK_LOCAL,
                                                    .sized = true});
}

/* The slot that the stub at code jumps through: [endbr64] [bnd] jmp
 * *displacement(%rip). */
static bool
x86_64_slot_address(const unsigned char *code, size_t size, uint64_t address,
                    uint64_t *slot)
{
    static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    size_t at = 0;
    int32_t displacement;

    if (size >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0) {
        at = sizeof(endbr64);
    }
    if (at < size && code[at] == 0xf2) {
        at++;
    }
    if (at + 6 > size || code[at] != 0xff || code[at + 1] != 0x25) {
        return false;
    }
    memcpy(&displacement, code + at + 2, sizeof(displacement));
    *slot = address + at + 6 + (uint64_t)(int64_t)displacement;
    return true;
}

static bool
add_x86_64_section(const struct sym_elf *file, const char *name,
                   const struct slots *slots, struct sym_table *table)
{
    const size_t index = sym_elf_find_section(file, name);
    const GElf_Shdr *section = &file->sections[index];
    const size_t step = section->sh_entsize == 8 ? 8 : STUB_BYTES;
    Elf_Data *data = checked_data(file, index);

    if (data == NULL || data->d_buf == NULL) {
        return true;
    }
    for (size_t at = 0; data->d_size - at >= step; at += step) {
        const uint64_t address = section->sh_addr + at;
        struct slot key = {0, 0};
        const struct slot *slot;

        if (!x86_64_slot_address((const unsigned char *)data->d_buf + at, step, address,
                                 &key.address)) {
            continue;
        }
        slot = bsearch(&key, slots->items, slots->count, sizeof(key), compare_slots);
        if (slot != NULL && !add_stub(slots, slot, address, step, table)) {
            return false;
        }
    }
    return true;
}

static bool
add_x86_64(const struct sym_elf *file, struct slots *slots, struct sym_table *table)
{
    if (!read_relocations(file, ".rela.dyn", slots)) {
        return false;
    }
    if (slots->count == 0) {
        return true;
    }
    qsort(slots->items, slots->count, sizeof(*slots->items), compare_slots);
    return add_x86_64_section(file, ".plt", slots, table) &&
           add_x86_64_section(file, ".plt.sec", slots, table) &&
           add_x86_64_section(file, ".plt.got", slots, table);
}

static bool
add_aarch64(const struct sym_elf *file, const struct slots *slots,
            struct sym_table *table)
{
    const size_t index = sym_elf_find_section(file, ".plt");
    const GElf_Shdr *section;

    if (index == 0) {
        return true;
    }
    section = &file->sections[index];
    for (size_t i = 0; i < slots->count; i++) {
        const uint64_t at = AARCH64_HEADER_BYTES + STUB_BYTES * (uint64_t)i;

        if (at + STUB_BYTES > section->sh_size) {
            return true;
        }
        if (!add_stub(slots, &slots->items[i], section->sh_addr + at, STUB_BYTES,
                      table)) {
            return false;
        }
    }
    return true;
}

static bool
load_names(const struct sym_elf *file, struct slots *slots, struct sym_table *table)
{
    for (size_t i = 1; i < file->section_count; i++) {
        if (file->sections[i].sh_type == SHT_DYNSYM) {
            char *strings =
                sym_elf_section_copy(file, file->sections[i].sh_link, SECTION_BYTES_MAX,
                                     &slots->strings_size);

            slots->symbols = checked_data(file, i);
            slots->strings = strings;
            return strings != NULL && sym_table_own(table, strings) &&
                   slots->symbols != NULL;
        }
    }
    return false;
}

int
sym_elf_add_stubs(const struct sym_elf *file, struct sym_table *table)
{
    struct slots slots = {0};
    bool added;

    if (file->segment_count == 0 ||
        (file->machine != EM_X86_64 && file->machine != EM_AARCH64) ||
        !load_names(file, &slots, table)) {
        return 0;
    }
    added = read_relocations(file, ".rela.plt", &slots) &&
            (file->machine == EM_X86_64 ? add_x86_64(file, &slots, table)
                                        : add_aarch64(file, &slots, table));
    free(slots.items);
    return added ? 1 : -ENOMEM;
}
