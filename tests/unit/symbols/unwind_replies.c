/* SPDX-License-Identifier: MIT */
/* What a reader that was taken over may answer when it is asked for unwind rows: none
 * of it is believed. */
#include "fixture.h"

#include "../../fuzz/in_process.h"
#include "symbols/border/protocol.h"
#include "symbols/client/unwind.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

enum { ROW_NUMBERS = 7 + 2 * SYM_SAVED_REGISTERS, ADDRESS = 0x1000 };

/* Behind REPLY_ANSWER. */
static uint64_t numbers[1 + 64 * ROW_NUMBERS];
static size_t number_count;
static bool hangs_up;

static void
answer(struct wire *wire)
{
    wire_put(wire, REPLY_ANSWER); /* headers */
    wire_put(wire, 0);
    wire_put_text(wire, "");
    for (int i = 0; i < 4; i++) {
        wire_put(wire, 0);
    }
    wire_put(wire, REPLY_ANSWER);
    for (size_t i = 0; i < number_count; i++) {
        wire_put(wire, numbers[i]);
    }
    wire_send(wire, -1);
    if (hangs_up) { /* and still reads: the question is sent before the answer ends */
        shutdown(wire->fd, SHUT_WR);
    }
    while (!wire->failed) { /* until nobody asks any more */
        (void)wire_get(wire);
    }
}

/* A row of a usual rule, behind those that are there. Gives its numbers. */
static uint64_t *
add_row(uint64_t start, uint64_t end)
{
    uint64_t *const row = &numbers[number_count];

    memset(row, 0, ROW_NUMBERS * sizeof(*row));
    row[0] = start;
    row[1] = end;
    row[2] = SYM_UNWIND_CALL;
    row[4] = SYM_REGISTER_SP;
    row[5] = (uint64_t)-8;
    number_count += ROW_NUMBERS;
    numbers[0]++;
    return row;
}

static void
begin(void)
{
    numbers[0] = 0;
    number_count = 1;
}

/* Ask about one address. Returns how many rows came, 0 if there was no answer. */
static size_t
ask(struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX], bool *ended)
{
    struct sym_unwind_answer answered = {.count = 0};
    const uint64_t address = ADDRESS;
    struct sym_image *image;

    in_process_work = answer;
    image = sym_image_open(memfd_create("file", MFD_CLOEXEC), "/forged", "", NULL);
    assert_non_null(image);
    if (sym_image_unwind(image, &address, 1, &answered) == 0) {
        answered.count = 0;
    }
    *ended = sym_image_is_ended(image);
    sym_image_close(image);
    memcpy(rows, answered.rows, sizeof(answered.rows));
    return answered.count;
}

static void
assert_refused(void)
{
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];
    bool ended;

    assert_int_equal(ask(rows, &ended), 0);
    assert_true(ended);
}

static void
replies__good_rows__taken(void **state)
{
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];
    bool ended;

    (void)state;
    begin();
    add_row(ADDRESS - 5, ADDRESS + 1);
    add_row(ADDRESS + 1, ADDRESS + 2);
    add_row(ADDRESS + 9, UINT64_MAX);
    assert_int_equal(ask(rows, &ended), 3);
    assert_false(ended);
    assert_int_equal(rows[0].start, ADDRESS - 5);
    assert_int_equal(rows[2].end, UINT64_MAX);
    assert_int_equal(rows[1].rule.cfa_offset, -8);
    assert_int_equal(rows[1].rule.cfa_register, SYM_REGISTER_SP);
}

static void
replies__rows_elsewhere_or_out_of_order__refused(void **state)
{
    static const uint64_t bad[][4] = {
        {ADDRESS + 1, ADDRESS + 2, 0, 0},
        {ADDRESS - 1, ADDRESS, 0, 0},
        {ADDRESS + 1, ADDRESS - 1, 0, 0},
        {ADDRESS, ADDRESS, 0, 0},
        {ADDRESS, ADDRESS + 2, ADDRESS + 1, ADDRESS + 4},
        {ADDRESS, ADDRESS + 2, ADDRESS + 2, ADDRESS + 2},
        {ADDRESS, ADDRESS + 2, 0, ADDRESS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        begin();
        add_row(bad[i][0], bad[i][1]);
        if (bad[i][3] != 0) {
            add_row(bad[i][2], bad[i][3]);
        }
        assert_refused();
    }
}

static void
replies__no_row_or_too_many__refused(void **state)
{
    (void)state;
    begin();
    assert_refused();
    for (uint64_t i = 0; i <= SYM_UNWIND_ROWS_MAX; i++) {
        add_row(ADDRESS + i, ADDRESS + i + 1);
    }
    assert_refused();
}

/* The largest of each number is taken, one more is not. */
static void
replies__number_beyond_its_range__refused(void **state)
{
    static const struct {
        size_t number;
        uint64_t most;
    } limits[] = {
        {2, SYM_UNWIND_KINDS - 1},
        {3, SYM_CFA_FORMS - 1},
        {4, SYM_REGISTERS - 1},
        {5, INT32_MAX},
        {6, SYM_REGISTERS - 1},
        {7, SYM_PLACES - 1},
        {8, INT32_MAX},
        {17, SYM_PLACES - 1},
        {18, INT32_MAX},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];
        bool ended;

        begin();
        add_row(ADDRESS, ADDRESS + 1)[limits[i].number] = limits[i].most;
        assert_int_equal(ask(rows, &ended), 1);
        assert_false(ended);
        begin();
        add_row(ADDRESS, ADDRESS + 1)[limits[i].number] = limits[i].most + 1;
        assert_refused();
    }
}

static void
replies__answer_that_stops__refused(void **state)
{
    (void)state;
    begin();
    add_row(ADDRESS, ADDRESS + 1);
    number_count--;
    hangs_up = true;
    assert_refused();
    hangs_up = false;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies__good_rows__taken),
        cmocka_unit_test(replies__rows_elsewhere_or_out_of_order__refused),
        cmocka_unit_test(replies__no_row_or_too_many__refused),
        cmocka_unit_test(replies__number_beyond_its_range__refused),
        cmocka_unit_test(replies__answer_that_stops__refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
