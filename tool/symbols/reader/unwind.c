/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - has libdw interpret unwind tables, and takes what it gives if it is one of
 * the few forms that real code has.
 *
 * libdw gives a location as an expression. That of CFA + offset is made by it; one that
 * a table has begins with a push of the CFA, whether it is used or not.
 */
#include "symbols/reader/unwind.h"

#include <dwarf.h>
#include <stdlib.h>

enum { RETURN_ADDRESS = 16, CALL_SIZE = 8 };

/* expression - DWARF operations. */
struct expression {
    Dwarf_Op *operations;
    size_t count;
};

/* --- forms --- */

/* Is the operation register + offset? */
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

/* Is it what linkers write for the stubs of a PLT, which push a number and then jump?
 */
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

static bool
take_cfa(const struct expression *cfa, struct sym_unwind_rule *rule)
{
    if (is_stub(cfa, &rule->cfa_offset)) {
        rule->cfa = SYM_CFA_STUB;
        rule->cfa_register = SYM_REGISTER_RSP;
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

/* Is rsp of the caller the CFA? */
static bool
has_usual_rsp(Dwarf_Frame *frame)
{
    struct expression found = {NULL, 0};
    Dwarf_Op room[3];

    return dwarf_frame_register(frame, SYM_REGISTER_RSP, room, &found.operations,
                                &found.count) == 0 &&
           found.count == 2 && found.operations[0].atom == DW_OP_call_frame_cfa &&
           found.operations[1].atom == DW_OP_stack_value;
}

/* --- rules --- */

static bool
is_signal_offset(const struct location *location, int number)
{
    return location->form == LOCATION_BASE && location->base == SYM_REGISTER_RSP &&
           location->offset == sym_signal_offsets[number];
}

/* Is all of it where the kernel stores it? */
static bool
is_signal(Dwarf_Frame *frame, const struct sym_unwind_rule *rule)
{
    struct location location = find_register(frame, RETURN_ADDRESS);

    if (rule->cfa != SYM_CFA_VALUE || rule->cfa_register != SYM_REGISTER_RSP ||
        rule->cfa_offset != sym_signal_offsets[SYM_REGISTER_RSP] ||
        !is_signal_offset(&location, RETURN_ADDRESS)) {
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

/* Take where a saved register is. At most one base can be said. */
static bool
take_place(const struct location *location, struct sym_unwind_rule *rule, size_t index)
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
    if (location->form == LOCATION_LOST &&
        sym_saved_registers[index] == SYM_REGISTER_RBX) {
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

static bool
take_places(Dwarf_Frame *frame, struct sym_unwind_rule *rule)
{
    for (size_t i = 0; i < SYM_SAVED_REGISTERS; i++) {
        const struct location location = find_register(frame, sym_saved_registers[i]);

        if (!take_place(&location, rule, i)) {
            return false;
        }
    }
    return has_usual_rsp(frame);
}

static struct sym_unwind_rule
rule_of_kind(enum sym_unwind_kind kind)
{
    return (struct sym_unwind_rule){.kind = (uint8_t)kind};
}

static struct sym_unwind_rule
rule_of(Dwarf_Frame *frame, bool signal)
{
    const struct location caller = find_register(frame, RETURN_ADDRESS);
    struct sym_unwind_rule rule = rule_of_kind(SYM_UNWIND_CALL);
    struct expression cfa = {NULL, 0};

    if (caller.form == LOCATION_LOST) {
        return rule_of_kind(SYM_UNWIND_OUTERMOST);
    }
    if (dwarf_frame_cfa(frame, &cfa.operations, &cfa.count) != 0 ||
        !take_cfa(&cfa, &rule)) {
        return rule_of_kind(SYM_UNWIND_UNSUPPORTED);
    }
    if (signal) {
        return rule_of_kind(is_signal(frame, &rule) ? SYM_UNWIND_SIGNAL
                                                    : SYM_UNWIND_UNSUPPORTED);
    }
    return caller.form == LOCATION_CFA && caller.offset == -CALL_SIZE &&
                   take_places(frame, &rule)
               ? rule
               : rule_of_kind(SYM_UNWIND_UNSUPPORTED);
}

/* --- tables --- */

/* Take the row of an address. False: the table has none. */
static bool
take_row(Dwarf_CFI *table, uint64_t address, struct sym_unwind_row *row)
{
    Dwarf_Frame *frame = NULL;
    bool signal = false;
    Dwarf_Addr start = 0;
    Dwarf_Addr end = 0;
    int number;

    if (table == NULL || dwarf_cfi_addrframe(table, address, &frame) != 0) {
        return false;
    }
    number = dwarf_frame_info(frame, &start, &end, &signal);
    *row = (struct sym_unwind_row){start, end, rule_of_kind(SYM_UNWIND_UNSUPPORTED)};
    if (number == RETURN_ADDRESS) {
        row->rule = rule_of(frame, signal);
    }
    free(frame);
    return start <= address && address < end;
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

/* One row that stands for all: the whole image, or one address. */
static size_t
take_none(const struct sym_unwind_tables *tables, uint64_t address,
          struct sym_unwind_row *row)
{
    *row = (struct sym_unwind_row){address, address + 1, rule_of_kind(SYM_UNWIND_NONE)};
    if (tables->exceptions == NULL && tables->debug == NULL) {
        *row =
            (struct sym_unwind_row){0, UINT64_MAX, rule_of_kind(SYM_UNWIND_NO_TABLES)};
    }
    return 1;
}

size_t
sym_unwind_tables_find(struct sym_unwind_tables *tables, const struct sym_elf *file,
                       struct sym_budget *budget, uint64_t address,
                       struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX])
{
    size_t count = 0;

    if (file->machine != EM_X86_64 || !file->wide || address == UINT64_MAX) {
        rows[0] = (struct sym_unwind_row){0, UINT64_MAX,
                                          rule_of_kind(SYM_UNWIND_UNSUPPORTED)};
        return 1;
    }
    if (!tables->opened) {
        open_tables(tables, file, budget);
    }
    while (count < SYM_UNWIND_ROWS_MAX &&
           (take_row(tables->exceptions, address, &rows[count]) ||
            take_row(tables->debug, address, &rows[count]))) {
        if (count > 0) {
            rows[count].start = address;
        }
        address = rows[count++].end;
    }
    return count > 0 ? count : take_none(tables, address, &rows[0]);
}

void
sym_unwind_tables_finish(struct sym_unwind_tables *tables)
{
    if (tables->exceptions != NULL) {
        (void)dwarf_cfi_end(tables->exceptions);
    }
    sym_dwarf_image_finish(&tables->image);
    *tables = (struct sym_unwind_tables){.opened = false};
}
