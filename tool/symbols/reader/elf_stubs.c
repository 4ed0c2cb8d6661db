/* SPDX-License-Identifier: MIT */
/*
 * elf_stubs.c - names PLT stubs after the functions that they jump to (x86-64,
 * AArch64).
 *
 * Linkers make stubs of many sizes and orders, so none is assumed: a stub is code that
 * loads a slot of the GOT and jumps to the address in it. Its name is that of the
 * symbol whose address the dynamic linker writes into the slot, by a relocation;
 * without a relocation it has no name.
 *
 * Functions that pass an instruction or a sequence of them return the offset behind it
 * in the code, and if other code is there, the offset that they were given.
 */
#include "symbols/reader/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* stub - code of [start, end). */
struct stub {
    uint64_t slot; /* link-time address of what it loads */
    uint64_t start;
    uint64_t end;
    uint64_t resolver; /* of an IFUNC that has no symbol of the dynamic linker; or 0 */
    const char *name;  /* NULL: not known */
};

struct stubs {
    const struct sym_elf *file;
    struct sym_table *table;
    struct sym_elf_symbols symbols; /* of the dynamic linker; data NULL: none */
    size_t symbols_index;           /* of their section */
    Elf_Data *lazy;                 /* .rela.plt, which lazy stubs count; or NULL */
    struct stub *items;
    size_t count;
    size_t room;
    bool failed; /* out of memory or budget */
};

/* code - bytes of a section, and where they are. */
struct code {
    const unsigned char *bytes;
    uint64_t size;
    uint64_t address;
};

/* Whether the code has these bytes at an offset. */
static bool
is_at(const struct code *code, uint64_t at, const void *bytes, size_t size)
{
    return at <= code->size && size <= code->size - at &&
           memcmp(code->bytes + at, bytes, size) == 0;
}

/* Return the little-endian word there, as instructions of both machines are; 0 beyond
 * the end. */
static uint32_t
word_at(const struct code *code, uint64_t at)
{
    const unsigned char *const bytes = code->bytes + at;

    return at <= code->size && code->size - at >= 4
               ? (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
                     (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24
               : 0;
}

/* --- x86-64 --- */

/* Pass these bytes. */
static uint64_t
skip_bytes(const struct code *code, uint64_t at, const char *bytes, size_t size)
{
    return is_at(code, at, bytes, size) ? at + size : at;
}

#define PASS_ENDBR64(code, at) skip_bytes(code, at, "\xf3\x0f\x1e\xfa", 4)
#define PASS_BND(code, at) skip_bytes(code, at, "\xf2", 1)

/* Return the address that an instruction refers to by its last four bytes, which are
 * the distance from the end of the instruction. */
static uint64_t
target_before(const struct code *code, uint64_t end)
{
    return code->address + end + (uint64_t)(int64_t)(int32_t)word_at(code, end - 4);
}

/* Pass an instruction of five bytes that has this first byte, its opcode. */
static uint64_t
pass_five(const struct code *code, uint64_t at, unsigned char first)
{
    return code->size - at >= 5 && code->bytes[at] == first ? at + 5 : at;
}

/* Pass push $INDEX and the jump to the head of the section, which resolves symbols.
 * slot: out, that of the relocation with this index. */
static uint64_t
pass_lazy(const struct stubs *stubs, const struct code *code, uint64_t at,
          uint64_t *slot)
{
    const uint64_t pushed = pass_five(code, at, 0x68);
    const uint64_t jump = PASS_BND(code, pushed);
    const uint64_t end = pass_five(code, jump, 0xe9);
    GElf_Rela relocation;
    uint32_t index;

    if (pushed == at || end == jump || target_before(code, end) != code->address ||
        stubs->lazy == NULL) {
        return at;
    }
    index = word_at(code, at + 1);
    if (index > INT32_MAX ||
        gelf_getrela(stubs->lazy, (int)index, &relocation) == NULL) {
        return at;
    }
    *slot = relocation.r_offset;
    return end;
}

/* Pass a stub of lld's option -z retpolineplt: mov slot(%rip), %r11, then a call or
 * jump of the code at the head of the section that jumps to %r11 without speculation,
 * and for lazy binding push $INDEX and the jump to the head. slot: out, its address. */
static uint64_t
pass_thunk(const struct code *code, uint64_t at, uint64_t *slot)
{
    /* Opcodes, of which a stub has some in this order: call, jmp, push, jmp. */
    static const unsigned char opcodes[] = {0xe8, 0xe9, 0x68, 0xe9};
    uint64_t end = at + 7;

    if (!is_at(code, at, "\x4c\x8b\x1d", 3) || code->size - at < 7) {
        return at;
    }
    *slot = target_before(code, end);
    for (size_t i = 0; i < sizeof(opcodes); i++) {
        end = pass_five(code, end, opcodes[i]);
    }
    return end > at + 7 ? end : at;
}

/* Pass a stub. slot: out, the address of the slot that it loads. */
static uint64_t
find_x86_64(const struct stubs *stubs, const struct code *code, uint64_t at,
            uint64_t *slot)
{
    const uint64_t begin = PASS_ENDBR64(code, at);
    const uint64_t jump = PASS_BND(code, begin);
    uint64_t lazy_slot = 0;
    uint64_t end;

    if (is_at(code, jump, "\xff\x25", 2) && code->size - jump >= 6) {
        end = jump + 6;
        *slot = target_before(code, end);
        /* The slot leads back here until the function is resolved. */
        if (pass_lazy(stubs, code, end, &lazy_slot) > end && lazy_slot == *slot) {
            end = pass_lazy(stubs, code, end, &lazy_slot);
        }
        return end;
    }
    end = pass_lazy(stubs, code, begin, slot);
    if (end == begin) {
        end = pass_thunk(code, begin, slot);
    }
    return end == begin ? at : end;
}

/* --- AArch64 --- */

enum {
    BTI_C = 0xd503245f,
    ADRP_X16 = 0x90000010,
    ADRP_MASK = 0x9f00001f,
    LDR_X17_X16 = 0xf9400211,
    LDR_W17_W16 = 0xb9400211,
    ADD_X16_X16 = 0x91000210,
    IMMEDIATE_MASK = 0xffc003ff, /* all but twelve bits */
    NOP = 0xd503201f,
    AUTIA1716 = 0xd503219f,
    AUTIB1716 = 0xd50321df,
    BR_X17 = 0xd61f0220,
    BRAA_X17_X16 = 0xd71f0a30,
    BRAB_X17_X16 = 0xd71f0e30
};

/* Return the page that an ADRP at this address gives: its own page and a number of
 * pages, whose 21 bits are in two fields, with their sign. */
static uint64_t
page_of(uint32_t adrp, uint64_t address)
{
    const uint64_t pages = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
    const uint64_t sign = UINT64_C(1) << 20;

    return (address & ~UINT64_C(0xfff)) + (((pages ^ sign) - sign) << 12);
}

/* Return where the jump to the loaded address ends, which is among the next four
 * instructions; 0: there is none. */
static uint64_t
pass_jump(const struct code *code, uint64_t at)
{
    for (uint64_t end = at + 16; at < end; at += 4) {
        const uint32_t word = word_at(code, at);

        if (word == (uint32_t)BR_X17 || word == (uint32_t)BRAA_X17_X16 ||
            word == (uint32_t)BRAB_X17_X16) {
            return at + 4;
        }
        if ((word & (uint32_t)IMMEDIATE_MASK) != (uint32_t)ADD_X16_X16 &&
            word != (uint32_t)NOP && word != (uint32_t)AUTIA1716 &&
            word != (uint32_t)AUTIB1716) {
            return 0;
        }
    }
    return 0;
}

/* Pass a stub: bti c; adrp x16, slot; ldr x17, [x16, slot]; add x16, x16, slot; br x17.
 * slot: out, the address of the slot that it loads. */
static uint64_t
find_aarch64(const struct code *code, uint64_t at, uint64_t *slot)
{
    const uint64_t begin = word_at(code, at) == (uint32_t)BTI_C ? at + 4 : at;
    const uint32_t adrp = word_at(code, begin);
    const uint32_t load = word_at(code, begin + 4);
    const uint32_t kind = load & (uint32_t)IMMEDIATE_MASK;
    const bool wide = kind == (uint32_t)LDR_X17_X16;
    const uint64_t end = pass_jump(code, begin + 8);

    if (at % 4 != 0 || (adrp & (uint32_t)ADRP_MASK) != (uint32_t)ADRP_X16 ||
        (!wide && kind != (uint32_t)LDR_W17_W16) || end == 0) {
        return at;
    }
    *slot = page_of(adrp, code->address + begin) +
            (uint64_t)(load >> 10 & 0xfff) * (wide ? 8 : 4);
    return end;
}

/* --- sections --- */

enum { PADDING_MAX = 15 };

/* Whether the bytes of [at, end) are padding: instructions that are never executed or
 * do nothing. */
static bool
is_padding(const struct stubs *stubs, const struct code *code, uint64_t at,
           uint64_t end)
{
    /* Bytes of the "nop"s of x86-64, "int3" and zeros. */
    static const char fill[] = "\x90\xcc\x66\x0f\x1f\x40\x44\x80\x84\x2e";

    if (end - at > PADDING_MAX) {
        return false;
    }
    for (; at < end; at++) {
        const unsigned char byte = code->bytes[at];

        if (stubs->file->machine == EM_X86_64
                ? byte != 0 && strchr(fill, byte) == NULL
                : (at % 4 == 0 && word_at(code, at) != (uint32_t)NOP &&
                   word_at(code, at) != 0)) {
            return false;
        }
    }
    return true;
}

/* Add a stub. On failure stubs->failed is set. */
static void
add_stub(struct stubs *stubs, const struct stub *stub)
{
    struct stub *const larger =
        sym_budget_grow(stubs->table->budget, stubs->items, stubs->count, &stubs->room,
                        sizeof(*larger));

    if (larger == NULL) {
        stubs->failed = true;
        return;
    }
    stubs->items = larger;
    stubs->items[stubs->count++] = *stub;
}

/* Make the padding between the last stub and offset until a part of that stub, if there
 * is only padding. first: number of the section's first stub. */
static void
end_last(struct stubs *stubs, size_t first, const struct code *code, uint64_t until)
{
    struct stub *const last =
        stubs->count > first ? &stubs->items[stubs->count - 1] : NULL;

    if (last != NULL && is_padding(stubs, code, last->end - code->address, until)) {
        last->end = code->address + until;
    }
}

/* Find all stubs in the code of a section. */
static void
scan_section(struct stubs *stubs, const struct code *code)
{
    const size_t first = stubs->count;
    uint64_t at = 0;

    while (at < code->size && !stubs->failed) {
        uint64_t slot = 0;
        const uint64_t end = stubs->file->machine == EM_X86_64
                                 ? find_x86_64(stubs, code, at, &slot)
                                 : find_aarch64(code, at, &slot);

        if (end == at) {
            at++;
            continue;
        }
        end_last(stubs, first, code, at);
        add_stub(stubs, &(struct stub){.slot = slot,
                                       .start = code->address + at,
                                       .end = code->address + end});
        at = end;
    }
    end_last(stubs, first, code, code->size);
}

/* Find the stubs in all sections that have some by their names. */
static void
scan_sections(struct stubs *stubs)
{
    const struct sym_elf *const file = stubs->file;

    for (size_t i = 1; i < file->section_count; i++) {
        const GElf_Shdr *const section = &file->sections[i];
        const char *const name =
            (section->sh_flags & SHF_EXECINSTR) == 0
                ? NULL
                : elf_strptr(file->elf, file->names, section->sh_name);

        if (name != NULL && sym_elf_section_in_file(file, i) &&
            section->sh_addr <= UINT64_MAX - section->sh_size &&
            (strncmp(name, ".plt", 4) == 0 || strncmp(name, ".iplt", 5) == 0)) {
            scan_section(stubs, &(struct code){file->bytes + section->sh_offset,
                                               section->sh_size, section->sh_addr});
        }
    }
}

/* --- relocations --- */

static int
compare_slots(const void *left, const void *right)
{
    const struct stub *const a = left;
    const struct stub *const b = right;

    return (a->slot > b->slot) - (a->slot < b->slot);
}

static int
compare_resolvers(const void *left, const void *right)
{
    const struct stub *const a = left;
    const struct stub *const b = right;

    return (a->resolver > b->resolver) - (a->resolver < b->resolver);
}

/* Whether by this relocation the dynamic linker writes the address of its symbol, and
 * nothing is added to it. */
static bool
writes_symbol(const struct sym_elf *file, const GElf_Rela *relocation)
{
    const uint64_t type = GELF_R_TYPE(relocation->r_info);

    if (file->machine == EM_X86_64) {
        return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
               (type == R_X86_64_64 && relocation->r_addend == 0);
    }
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
           (type == R_AARCH64_ABS64 && relocation->r_addend == 0);
}

/* Whether by this relocation the dynamic linker calls the resolver of an IFUNC, and
 * writes the address that it returns. */
static bool
calls_resolver(const struct sym_elf *file, const GElf_Rela *relocation)
{
    return GELF_R_TYPE(relocation->r_info) ==
           (file->machine == EM_X86_64 ? R_X86_64_IRELATIVE : R_AARCH64_IRELATIVE);
}

/* Set the name, or the resolver, of the stubs that load the slot of a relocation.
 * symbols: the relocation's symbol is one of stubs->symbols. */
static void
take_relocation(struct stubs *stubs, const GElf_Rela *relocation, bool symbols)
{
    const bool resolves = calls_resolver(stubs->file, relocation);
    const char *name = NULL;
    GElf_Sym symbol;

    if (!resolves && (!symbols || !writes_symbol(stubs->file, relocation) ||
                      GELF_R_SYM(relocation->r_info) == 0 ||
                      !sym_elf_symbol(&stubs->symbols, GELF_R_SYM(relocation->r_info),
                                      &symbol, &name))) {
        return;
    }
    for (size_t i = sym_count_below(stubs->items, stubs->count, sizeof(*stubs->items),
                                    relocation->r_offset);
         i < stubs->count && stubs->items[i].slot == relocation->r_offset; i++) {
        stubs->items[i].name = name;
        stubs->items[i].resolver = resolves ? (uint64_t)relocation->r_addend : 0;
    }
}

/* Name stubs by all relocations of the file. */
static void
take_relocations(struct stubs *stubs)
{
    const struct sym_elf *const file = stubs->file;

    for (size_t i = 1; i < file->section_count; i++) {
        const GElf_Shdr *const section = &file->sections[i];
        GElf_Rela relocation;
        Elf_Data *data;

        if (section->sh_type != SHT_RELA || (section->sh_flags & SHF_ALLOC) == 0 ||
            !sym_elf_section_in_file(file, i)) {
            continue;
        }
        data = elf_getdata(elf_getscn(file->elf, i), NULL);
        for (int k = 0; data != NULL && k < INT32_MAX &&
                        gelf_getrela(data, k, &relocation) != NULL;
             k++) {
            take_relocation(stubs, &relocation,
                            stubs->symbols.data != NULL &&
                                section->sh_link == stubs->symbols_index);
        }
    }
}

/* Return an entry's name without its version, in memory of the table; NULL: out of
 * memory. */
static const char *
plain_name(struct stubs *stubs, const struct sym_entry *entry)
{
    const size_t length = sym_shown_length(entry->name, entry->tag);
    char *copy;

    if (entry->name[length] == '\0') {
        return entry->name;
    }
    copy =
        sym_table_take(stubs->table, length + 1) ? strndup(entry->name, length) : NULL;
    return sym_table_own(stubs->table, copy) ? copy : NULL;
}

/* Give a stub without a name that of another stub, if they have the same resolver. */
static void
share_name(struct stub *stub, const struct stub *other)
{
    if (stub->resolver != 0 && stub->resolver == other->resolver &&
        stub->name == NULL) {
        stub->name = other->name;
    }
}

/* Name the stubs that have a resolver by the symbol at its address: by that of the
 * IFUNC if there is one, or else by that of an ordinary function. */
static void
name_by_resolvers(struct stubs *stubs)
{
    const struct sym_table *const table = stubs->table;

    qsort(stubs->items, stubs->count, sizeof(*stubs->items), compare_resolvers);
    for (size_t i = 0; i < table->entry_count; i++) {
        const struct stub wanted = {.resolver = table->entries[i].start};
        struct stub *const found = wanted.resolver == 0
                                       ? NULL
                                       : bsearch(&wanted, stubs->items, stubs->count,
                                                 sizeof(wanted), compare_resolvers);

        if (found != NULL && (found->name == NULL || table->entries[i].chooses)) {
            found->name = plain_name(stubs, &table->entries[i]);
        }
    }
    /* Stubs with the same resolver share its name: any of them may have been named. */
    for (size_t i = 1; i < stubs->count; i++) {
        share_name(&stubs->items[i], &stubs->items[i - 1]);
    }
    for (size_t i = stubs->count - 1; i > 0; i--) {
        share_name(&stubs->items[i - 1], &stubs->items[i]);
    }
}

/* Add the stubs that have names to the table. Returns false if memory or the budget ran
 * out. */
static bool
add_stubs(struct stubs *stubs)
{
    for (size_t i = 0; i < stubs->count; i++) {
        const struct stub *const stub = &stubs->items[i];
        const struct sym_entry entry = {.start = stub->start,
                                        .end = stub->end,
                                        .name = stub->name,
                                        .tag = SYM_TAG_STUB,
                                        .rank = SYM_RANK_LOCAL,
                                        .sized = true};

        if (stub->name != NULL && !sym_table_add(stubs->table, &entry)) {
            return false;
        }
    }
    return true;
}

/* --- all --- */

/* Open the symbols of the dynamic linker, and .rela.plt, as far as they are there. */
static void
open_symbols(struct stubs *stubs)
{
    const struct sym_elf *const file = stubs->file;
    const size_t lazy = sym_elf_find_section(file, ".rela.plt");

    for (size_t i = 1; i < file->section_count && stubs->symbols_index == 0; i++) {
        stubs->symbols_index = file->sections[i].sh_type == SHT_DYNSYM ? i : 0;
    }
    if (sym_elf_symbols_open(&stubs->symbols, file, SHT_DYNSYM, /* budget */ NULL) ==
        0) {
        stubs->failed = !sym_table_own(stubs->table, stubs->symbols.strings);
    } else {
        stubs->symbols.data = NULL;
    }
    if (lazy != 0 && file->sections[lazy].sh_type == SHT_RELA &&
        sym_elf_section_in_file(file, lazy)) {
        stubs->lazy = elf_getdata(elf_getscn(file->elf, lazy), NULL);
    }
}

int
sym_elf_add_stubs(const struct sym_elf *file, struct sym_table *table)
{
    struct stubs stubs = {.file = file, .table = table};
    bool added;

    if (file->segment_count == 0 ||
        (file->machine != EM_X86_64 && file->machine != EM_AARCH64)) {
        return 0;
    }
    open_symbols(&stubs);
    scan_sections(&stubs);
    if (stubs.count > 0 && !stubs.failed) {
        qsort(stubs.items, stubs.count, sizeof(*stubs.items), compare_slots);
        take_relocations(&stubs);
        name_by_resolvers(&stubs);
    }
    added = !stubs.failed && add_stubs(&stubs);
    sym_budget_give(table->budget, stubs.room * sizeof(*stubs.items));
    free(stubs.items);
    return added ? 1 : -ENOMEM;
}
