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

/* Of processor time for questions that are asked together; real tables take at most a
 * millisecond for each. */
#define QUESTIONS_NS_MAX (UINT64_C(2) * CLOCK_SECOND_NS)

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

/* Receive the rows of an address. Returns false if they make no sense. */
static bool
get_answer(struct wire *wire, uint64_t address, struct sym_unwind_answer *answer)
{
    struct sym_unwind_row *const rows = answer->rows;

    answer->count = (size_t)wire_get_most(wire, SYM_UNWIND_ROWS_MAX);
    for (size_t i = 0; i < answer->count && !wire->failed; i++) {
        get_row(wire, &rows[i], i == 0 ? address : rows[i - 1].end, i == 0);
    }
    wire->failed |= answer->count == 0;
    return !wire->failed;
}

/* Send all questions together. Returns false if the process has ended or no time is
 * left. */
static bool
put_questions(struct sym_image *image, const uint64_t *addresses, size_t count)
{
    struct wire *wire = NULL;
    uint64_t end_ns;

    for (size_t i = 0; i < count; i++) {
        assert(addresses[i] < UINT64_MAX);
        wire = image_ask(image, ASK_UNWIND);
        if (wire == NULL) {
            return false;
        }
        wire_put(wire, addresses[i]);
    }
    end_ns = sandbox_cpu_ns(&image->process) + QUESTIONS_NS_MAX;
    if (image->process.cpu_end_ns > end_ns) {
        image->process.cpu_end_ns = end_ns;
    }
    wire_send(wire, -1);
    return true;
}

size_t
sym_image_unwind(struct sym_image *image, const uint64_t *addresses, size_t count,
                 struct sym_unwind_answer *answers)
{
    struct wire *const wire = &image->process.wire;
    size_t answered = 0;

    assert(count > 0 && count <= SYM_UNWIND_ASKED_MAX);
    if (!put_questions(image, addresses, count)) {
        return 0;
    }
    while (answered < count && image_next_answer(image) &&
           get_answer(wire, addresses[answered], &answers[answered])) {
        answered++;
    }
    (void)image_finish(image);
    return answered;
}
