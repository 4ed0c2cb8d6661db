/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - has libdw interpret the unwind tables of code, and turns what libdw
 * says of an address into a rule, if that has one of the few forms of real code.
 *
 * libdw describes where a register is by an expression of DWARF. libdw itself makes
 * that of a register at CFA + offset: DW_OP_call_frame_cfa, and DW_OP_plus_uconst if
 * the offset is not 0. It puts the same first operation, which pushes the CFA, before
 * an expression that is in the table, whether that uses it or not.
 */
#include "symbols/reader/unwind.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that a call pushes on x86-64. */
enum { CALL_SIZE = 8 };

/* DWARF's number of rbx, which libdw 0.188 confuses (set_saved_register). */
enum { RBX = 3 };

/* Of the code of arm64 that signal handlers return to. */
enum { TRAMPOLINE_BYTES = 8 };

/* expression - DWARF operations. */
struct expression {
    Dwarf_Op *operations;
    size_t count;
};

/* --- forms --- */

/* Whether an operation is register + offset: then number and offset are set. */
static bool
is_sum(const Dwarf_Op *operation, uint8_t *number, int32_t *offset)
{
    uint64_t base = 0;
    int64_t sum = 0;

    if (operation->atom >= DW_OP_breg0 && operation->atom <= DW_OP_breg31) {
        base = operation->atom - DW_OP_breg0;
        sum = (int64_t)operation->number;
    } else if (operation->atom == DW_OP_bregx) {
        base = operation->number;
        sum = (int64_t)operation->number2;
    } else {
        return false;
    }
    if (base >= SYM_REGISTERS || sum < INT32_MIN || sum > INT32_MAX) {
        return false;
    }
    *number = (uint8_t)base;
    *offset = (int32_t)sum;
    return true;
}

/* Whether a CFA is the one that linkers write for the stubs of a PLT, which push a
 * number and then jump: rsp + 8 + ((rip & 15) >= N) << 3. pushed_from: out, N. */
static bool
is_stub(const struct expression *cfa, int32_t *pushed_from)
{
    static const uint8_t atoms[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15,
                                    DW_OP_and,   DW_OP_lit0,   DW_OP_ge,
                                    DW_OP_lit3,  DW_OP_shl,    DW_OP_plus};
    enum { PUSHED_FROM = 4 };

    if (cfa->count != sizeof(atoms)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(atoms); i++) {
        if (i != PUSHED_FROM && cfa->operations[i].atom != atoms[i]) {
            return false;
        }
    }
    *pushed_from = cfa->operations[PUSHED_FROM].atom - DW_OP_lit0;
    return cfa->operations[0].number == CALL_SIZE && cfa->operations[1].number == 0 &&
           *pushed_from >= 0 && *pushed_from <= 15;
}

/* Set the form, register and offset of the CFA. Returns false if the expression has
 * none of the forms. */
static bool
set_cfa(const struct expression *cfa, struct sym_unwind_rule *rule)
{
    if (SYM_UNWIND_MACHINE != EM_AARCH64 && is_stub(cfa, &rule->cfa_offset)) {
        rule->cfa = SYM_CFA_STUB;
        rule->cfa_register = SYM_REGISTER_SP;
        return true;
    }
    if (cfa->count == 2 && cfa->operations[1].atom == DW_OP_deref) {
        rule->cfa = SYM_CFA_VALUE;
    } else if (cfa->count == 1) {
        rule->cfa = SYM_CFA_REGISTER;
    } else {
        return false;
    }
    return is_sum(&cfa->operations[0], &rule->cfa_register, &rule->cfa_offset);
}

enum location_form {
    LOCATION_SAME,
    LOCATION_CFA,
    LOCATION_BASE,
    LOCATION_LOST,
    LOCATION_OTHER
};

/* location - where a register of the caller is. */
struct location {
    enum location_form form;
    uint8_t base;
    int32_t offset;
};

/* Interpret libdw's expression for a register of the caller. Without operations, the
 * pointer to them says whether the register is the same (NULL) or lost. */
static struct location
location_of(const struct expression *found)
{
    const Dwarf_Op *const operations = found->operations;
    struct location location = {.form = LOCATION_OTHER};

    if (found->count == 0) {
        location.form = operations == NULL ? LOCATION_SAME : LOCATION_LOST;
    } else if (operations[0].atom != DW_OP_call_frame_cfa || found->count > 2) {
        location.form = LOCATION_OTHER;
    } else if (found->count == 1) {
        location.form = LOCATION_CFA;
    } else if (operations[1].atom == DW_OP_plus_uconst) {
        const int64_t offset = (int64_t)operations[1].number;

        if (offset >= INT32_MIN && offset <= INT32_MAX) {
            location.form = LOCATION_CFA;
            location.offset = (int32_t)offset;
        }
    } else if (is_sum(&operations[1], &location.base, &location.offset)) {
        location.form = LOCATION_BASE;
    }
    return location;
}

/* Return where the caller's register of DWARF's number is. */
static struct location
find_register(Dwarf_Frame *frame, int number)
{
    struct expression found = {NULL, 0};
    Dwarf_Op room[3];

    return dwarf_frame_register(frame, number, room, &found.operations, &found.count) ==
                   0
               ? location_of(&found)
               : (struct location){.form = LOCATION_OTHER};
}

/* Whether the caller's stack pointer is the CFA. The ABI says so of x86-64; that of
 * arm64 says nothing, so that it is lost for libdw. */
static bool
has_usual_sp(Dwarf_Frame *frame)
{
    struct expression found = {NULL, 0};
    Dwarf_Op room[3];

    return dwarf_frame_register(frame, SYM_REGISTER_SP, room, &found.operations,
                                &found.count) == 0 &&
           ((found.count == 2 && found.operations[0].atom == DW_OP_call_frame_cfa &&
             found.operations[1].atom == DW_OP_stack_value) ||
            (SYM_UNWIND_MACHINE == EM_AARCH64 && found.count == 0));
}

/* --- rules --- */

#if SYM_UNWIND_MACHINE == EM_AARCH64

/* Whether a rule is the kernel's of the code that signal handlers return to. It leads
 * to a record of the frame pointer and link register of what was interrupted. The
 * walk needs all registers, which are below it where the stack pointer is. */
static bool
is_signal(Dwarf_Frame *frame, const struct sym_unwind_rule *rule)
{
    const struct location saved = find_register(frame, SYM_REGISTER_FP);
    const struct location link = find_register(frame, SYM_REGISTER_RETURN);

    return rule->cfa == SYM_CFA_REGISTER && rule->cfa_register == SYM_REGISTER_FP &&
           rule->cfa_offset == 0 && saved.form == LOCATION_CFA && saved.offset == 0 &&
           link.form == LOCATION_CFA && link.offset == (int32_t)sizeof(uint64_t);
}

#else

/* Whether a location is where the kernel stores the register of a number. */
static bool
is_signal_offset(const struct location *location, int number)
{
    return location->form == LOCATION_BASE && location->base == SYM_REGISTER_SP &&
           location->offset == sym_signal_offsets[number];
}

/* Whether CFA, return address and saved registers are where the kernel stores those of
 * code that a signal interrupted. */
static bool
is_signal(Dwarf_Frame *frame, const struct sym_unwind_rule *rule)
{
    struct location location = find_register(frame, SYM_REGISTER_RETURN);

    if (rule->cfa != SYM_CFA_VALUE || rule->cfa_register != SYM_REGISTER_SP ||
        rule->cfa_offset != sym_signal_offsets[SYM_REGISTER_SP] ||
        !is_signal_offset(&location, SYM_REGISTER_RETURN)) {
        return false;
    }
    for (size_t i = 0; i < SYM_SAVED_REGISTERS; i++) {
        location = find_register(frame, sym_saved_registers[i]);
        if (!is_signal_offset(&location, sym_saved_registers[i])) {
            return false;
        }
    }
    return true;
}

#endif

/* Set where the saved register of an index is. Returns false if a rule cannot say it:
 * another form, or a second register that a location is relative to. */
static bool
set_saved_register(const struct location *location, struct sym_unwind_rule *rule,
                   size_t index)
{
    static const uint8_t places[] = {
        [LOCATION_SAME] = SYM_PLACE_SAME,
        [LOCATION_CFA] = SYM_PLACE_CFA,
        [LOCATION_BASE] = SYM_PLACE_BASE,
        [LOCATION_LOST] = SYM_PLACE_LOST,
    };
    bool has_base = false;

    if (location->form == LOCATION_OTHER) {
        return false;
    }
    /* libdw 0.188 takes number 0 for that of rbx: where tables do not say, rbx is lost
     * for it and rax is the same. No table says of rbx that it is lost. */
    if (SYM_UNWIND_MACHINE != EM_AARCH64 && location->form == LOCATION_LOST &&
        sym_saved_registers[index] == RBX) {
        return true;
    }
    for (size_t i = 0; i < index; i++) {
        has_base |= rule->places[i] == SYM_PLACE_BASE;
    }
    if (location->form == LOCATION_BASE) {
        if (has_base && rule->base != location->base) {
            return false;
        }
        rule->base = location->base;
    }
    rule->places[index] = places[location->form];
    rule->offsets[index] = location->offset;
    return true;
}

/* Whether a return address is where a rule has it: on arm64 in the link register or
 * where that is saved. */
static bool
has_usual_return(const struct location *caller)
{
    return SYM_UNWIND_MACHINE == EM_AARCH64 ||
           (caller->form == LOCATION_CFA && caller->offset == -CALL_SIZE);
}

/* Set where all saved registers are. Returns false if a rule cannot say it. */
static bool
set_saved_registers(Dwarf_Frame *frame, struct sym_unwind_rule *rule)
{
    for (size_t i = 0; i < SYM_SAVED_REGISTERS; i++) {
        const struct location location = find_register(frame, sym_saved_registers[i]);

        if (!set_saved_register(&location, rule, i)) {
            return false;
        }
    }
    return has_usual_sp(frame);
}

#if SYM_UNWIND_MACHINE == EM_AARCH64

/* Correct the CFA of a rule by which the return address is not below it. glibc says so
 * of the code that finds a function when it is first called, for which .plt has pushed
 * x16 and x30; the CFA is above these. Returns false if the rule is another one, as in
 * longjmp, whose caller is not the one that it returns to. */
static bool
correct_cfa(struct sym_unwind_rule *rule)
{
    enum { PUSHED = 16, RETURN = SYM_SAVED_REGISTERS - 1 };

    if (rule->places[RETURN] != SYM_PLACE_CFA || rule->offsets[RETURN] < 0) {
        return true;
    }
    if (rule->offsets[RETURN] != PUSHED / 2 || rule->cfa != SYM_CFA_REGISTER ||
        rule->cfa_offset > INT32_MAX - PUSHED) {
        return false;
    }
    rule->cfa_offset += PUSHED;
    for (size_t i = 0; i < SYM_SAVED_REGISTERS; i++) {
        if (rule->places[i] == SYM_PLACE_CFA &&
            __builtin_sub_overflow(rule->offsets[i], PUSHED, &rule->offsets[i])) {
            return false;
        }
    }
    return true;
}

#else

static bool
correct_cfa(struct sym_unwind_rule *rule)
{
    (void)rule; /* the return address is below the CFA */
    return true;
}

#endif

static struct sym_unwind_rule
rule_of_kind(enum sym_unwind_kind kind)
{
    return (struct sym_unwind_rule){.kind = (uint8_t)kind};
}

/* Return the rule of a frame of libdw. signal: the code is what signal handlers return
 * to. */
static struct sym_unwind_rule
rule_of(Dwarf_Frame *frame, bool signal)
{
    const struct location caller = find_register(frame, SYM_REGISTER_RETURN);
    struct sym_unwind_rule rule = rule_of_kind(SYM_UNWIND_CALL);
    struct expression cfa = {NULL, 0};

    if (caller.form == LOCATION_LOST) {
        return rule_of_kind(SYM_UNWIND_OUTERMOST);
    }
    if (dwarf_frame_cfa(frame, &cfa.operations, &cfa.count) != 0 ||
        !set_cfa(&cfa, &rule)) {
        return rule_of_kind(SYM_UNWIND_UNSUPPORTED);
    }
    if (signal) {
        return rule_of_kind(is_signal(frame, &rule) ? SYM_UNWIND_SIGNAL
                                                    : SYM_UNWIND_UNSUPPORTED);
    }
    return has_usual_return(&caller) && set_saved_registers(frame, &rule) &&
                   correct_cfa(&rule)
               ? rule
               : rule_of_kind(SYM_UNWIND_UNSUPPORTED);
}

/* --- arm64's code that has no tables --- */

/* Find the code that signal handlers return to, which kernels have in the vdso, and
 * musl in its libc, with no tables: unwinders know it by its instructions. Returns its
 * address, or 0. */
static uint64_t
find_trampoline(const struct sym_elf *file)
{
    enum { ALIGNMENT = 4 };
    static const unsigned char code[] = {0x68, 0x11, 0x80, 0xd2,  /* mov x8, 139 */
                                         0x01, 0x00, 0x00, 0xd4}; /* svc 0 */

    _Static_assert(sizeof(code) == TRAMPOLINE_BYTES, "two instructions");
    for (size_t i = 0; i < file->segment_count; i++) {
        const GElf_Phdr *const segment = &file->segments[i];
        const unsigned char *found;
        const unsigned char *from;
        uint64_t offset;
        uint64_t left;

        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0 ||
            !sym_elf_find_offset(file, segment->p_vaddr, &offset, &left)) {
            continue;
        }
        from = file->bytes + offset;
        while ((found = memmem(from, left, code, sizeof(code))) != NULL) {
            if ((uint64_t)(found - file->bytes) % ALIGNMENT == 0) {
                return segment->p_vaddr + (uint64_t)(found - file->bytes) - offset;
            }
            left -= (uint64_t)(found + 1 - from);
            from = found + 1;
        }
    }
    return 0;
}

/* Make a row of the stubs of arm64's PLT, for which linkers write no tables: each jumps
 * with stack and link register as its caller left them. What is before them in .plt
 * pushes. Returns false if the address is in no stub. */
static bool
find_stub_row(const struct sym_elf *file, uint64_t address, struct sym_unwind_row *row)
{
    enum { HEAD_BYTES = 32 };
    const size_t index =
        SYM_UNWIND_MACHINE == EM_AARCH64 ? sym_elf_find_section(file, ".plt") : 0;
    uint64_t start;
    uint64_t end;

    if (index == 0 ||
        __builtin_add_overflow(file->sections[index].sh_addr, HEAD_BYTES, &start) ||
        __builtin_add_overflow(file->sections[index].sh_addr,
                               file->sections[index].sh_size, &end) ||
        address < start || address >= end) {
        return false;
    }
    *row = (struct sym_unwind_row){start, end, rule_of_kind(SYM_UNWIND_CALL)};
    row->rule.cfa_register = SYM_REGISTER_SP;
    return true;
}

/* --- tables --- */

/* Return where the row of an address begins. libdw (0.188) says of a row that
 * DW_CFA_restore_state brings back, as compilers do behind an epilogue, that it begins
 * where it was saved, before the rows between; where rows end is right. So rows are
 * followed from there to that of the address, which may be too far: then it is taken to
 * begin at the address. */
static uint64_t
find_start(Dwarf_CFI *table, uint64_t start, uint64_t address)
{
    for (size_t i = 0; i < SYM_UNWIND_ROWS_MAX && start < address; i++) {
        Dwarf_Frame *frame = NULL;
        Dwarf_Addr other;
        Dwarf_Addr end = 0;
        bool signal;

        if (dwarf_cfi_addrframe(table, start, &frame) != 0) {
            break;
        }
        (void)dwarf_frame_info(frame, &other, &end, &signal);
        free(frame);
        if (end > address) {
            return start;
        }
        if (end <= start) {
            break;
        }
        start = end;
    }
    return address;
}

/* Get the row of an address from a table, or NULL. Returns false if there is none. */
static bool
find_row(Dwarf_CFI *table, uint64_t address, struct sym_unwind_row *row)
{
    Dwarf_Frame *frame = NULL;
    bool signal = false;
    Dwarf_Addr start = 0;
    Dwarf_Addr end = 0;
    int number;

    if (table == NULL || dwarf_cfi_addrframe(table, address, &frame) != 0) {
        return false;
    }
    number = dwarf_frame_info(frame, &start, &end, &signal); /* of the return address */
    *row = (struct sym_unwind_row){start, end, rule_of_kind(SYM_UNWIND_UNSUPPORTED)};
    if (number == SYM_REGISTER_RETURN) {
        row->rule = rule_of(frame, signal);
    }
    free(frame);
    if (start > address || address >= end) {
        return false;
    }
    row->start = find_start(table, start, address);
    return true;
}

static void
open_tables(struct sym_unwind_tables *tables, const struct sym_elf *file,
            struct sym_budget *budget)
{
    tables->opened = true;
    tables->exceptions = dwarf_getcfi_elf(file->elf);
    if (sym_dwarf_image_copy_frames(&tables->image, file, budget) &&
        sym_dwarf_image_open(&tables->image)) {
        tables->debug = dwarf_getcfi(tables->image.dwarf);
    }
}

/* Return the address of arm64's trampoline, or 0. All code is read for it, so only when
 * an address has no row. */
static uint64_t
trampoline_of(struct sym_unwind_tables *tables, const struct sym_elf *file)
{
    if (SYM_UNWIND_MACHINE == EM_AARCH64 && !tables->searched) {
        tables->trampoline = find_trampoline(file);
        tables->searched = true;
    }
    return tables->trampoline;
}

/* Make the row that says why there is none: for the whole image if it has no tables,
 * but for its trampoline; or else for this address. */
static void
explain_no_row(const struct sym_unwind_tables *tables, uint64_t trampoline,
               uint64_t address, struct sym_unwind_row *row)
{
    enum { BEFORE = 4 }; /* an instruction: the walk looks at the byte before */
    const bool none = tables->exceptions == NULL && tables->debug == NULL;
    const uint64_t start = trampoline - BEFORE;
    const uint64_t end = trampoline + TRAMPOLINE_BYTES;
    const struct sym_unwind_rule signal = rule_of_kind(SYM_UNWIND_SIGNAL);
    const struct sym_unwind_rule no_tables = rule_of_kind(SYM_UNWIND_NO_TABLES);
    const bool has_trampoline = trampoline >= BEFORE && end > start;

    if (has_trampoline && address >= start && address < end) {
        *row = (struct sym_unwind_row){start, end, signal};
    } else if (none && has_trampoline && address < start) {
        *row = (struct sym_unwind_row){0, start, no_tables};
    } else if (none) {
        *row = (struct sym_unwind_row){has_trampoline ? end : 0, UINT64_MAX, no_tables};
    } else {
        *row = (struct sym_unwind_row){address, address + 1,
                                       rule_of_kind(SYM_UNWIND_NONE)};
    }
}

size_t
sym_unwind_tables_find(struct sym_unwind_tables *tables, const struct sym_elf *file,
                       struct sym_budget *budget, uint64_t address,
                       struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX])
{
    size_t count = 0;

    if (file->machine != SYM_UNWIND_MACHINE || !file->wide || address == UINT64_MAX) {
        rows[0] = (struct sym_unwind_row){0, UINT64_MAX,
                                          rule_of_kind(SYM_UNWIND_UNSUPPORTED)};
        return 1;
    }
    if (!tables->opened) {
        open_tables(tables, file, budget);
    }
    while (count < SYM_UNWIND_ROWS_MAX &&
           (find_row(tables->exceptions, address, &rows[count]) ||
            find_row(tables->debug, address, &rows[count]))) {
        if (count > 0) {
            rows[count].start = address; /* so that rows of two tables do not overlap */
        }
        address = rows[count++].end;
    }
    if (count == 0) {
        if (!find_stub_row(file, address, &rows[0])) {
            explain_no_row(tables, trampoline_of(tables, file), address, &rows[0]);
        }
        count = 1;
    }
    return count;
}

void
sym_unwind_tables_finish(struct sym_unwind_tables *tables)
{
    if (tables->exceptions != NULL) {
        (void)dwarf_cfi_end(tables->exceptions);
    }
    sym_dwarf_image_finish(&tables->image); /* libdw frees debug with it */
    *tables = (struct sym_unwind_tables){.opened = false};
}
