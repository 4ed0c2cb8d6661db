/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - has unwind rows read, and checks what comes back: each number against what
 * it may be, and rows against each other. What a rule says of memory is checked by who
 * follows it.
 */
#include "symbols/client/unwind.h"

#include "base/clock.h"
#include "symbols/client/imagep.h"

#include <assert.h>

/* Of processor time for one question; real tables take a millisecond. */
#define QUESTION_NS_MAX (UINT64_C(2) * CLOCK_SECOND_NS)

static int32_t
get_offset(struct wire *wire)
{
    const int64_t offset = (int64_t)wire_get(wire);

    if (offset < INT32_MIN || offset > INT32_MAX) {
        wire->failed = true;
        return 0;
    }
    return (int32_t)offset;
}

static void
get_rule(struct wire *wire, struct sym_unwind_rule *rule)
{
    rule->kind = (uint8_t)wire_get_most(wire, SYM_UNWIND_KINDS - 1);
    rule->cfa = (uint8_t)wire_get_most(wire, SYM_CFA_FORMS - 1);
    rule->cfa_register = (uint8_t)wire_get_most(wire, SYM_REGISTERS - 1);
    rule->cfa_offset = get_offset(wire);
    rule->base = (uint8_t)wire_get_most(wire, SYM_REGISTERS - 1);
    for (size_t i = 0; i < SYM_SAVED_REGISTERS; i++) {
        rule->places[i] = (uint8_t)wire_get_most(wire, SYM_PLACES - 1);
        rule->offsets[i] = get_offset(wire);
    }
}

/* from: where rows may begin. The first one begins there or before. */
static void
get_row(struct wire *wire, struct sym_unwind_row *row, uint64_t from, bool first)
{
    row->start = wire_get(wire);
    row->end = wire_get(wire);
    get_rule(wire, &row->rule);
    if (row->end <= from || row->start >= row->end ||
        (first ? row->start > from : row->start < from)) {
        wire->failed = true;
    }
}

static size_t
get_rows(struct wire *wire, uint64_t address,
         struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX])
{
    const size_t count = (size_t)wire_get_most(wire, SYM_UNWIND_ROWS_MAX);

    for (size_t i = 0; i < count && !wire->failed; i++) {
        get_row(wire, &rows[i], i == 0 ? address : rows[i - 1].end, i == 0);
    }
    wire->failed |= count == 0;
    return wire->failed ? 0 : count;
}

size_t
sym_image_unwind(struct sym_image *image, uint64_t address,
                 struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX])
{
    struct wire *const wire = image_ask(image, ASK_UNWIND);
    size_t count = 0;

    assert(address < UINT64_MAX);
    if (wire != NULL) {
        const uint64_t end_ns = sandbox_cpu_ns(&image->process) + QUESTION_NS_MAX;

        if (image->process.cpu_end_ns > end_ns) {
            image->process.cpu_end_ns = end_ns;
        }
        wire_put(wire, address);
        wire_send(wire, -1);
        count = image_next_answer(image) ? get_rows(wire, address, rows) : 0;
        count = image_finish(image) ? count : 0;
    }
    if (count == 0) {
        rows[0] = (struct sym_unwind_row){0, UINT64_MAX, {.kind = SYM_UNWIND_UNREAD}};
        count = 1;
    }
    return count;
}
