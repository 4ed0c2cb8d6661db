/* SPDX-License-Identifier: MIT */
/*
 * memory.c - every allocation fails in turn while a screen's table takes a look: the
 * next look finds a table that agrees with itself.
 */
#include "view/screen/table.h"

#include "failing_memory.h"
#include "looks.h"

#include <stdio.h>

/* More than any array or index of a table first has room for. */
enum { FUNCTIONS = 300 };

/* A hit in each of the functions f0, f1 ..., or in the reverse order. */
static struct profile *
make_look(bool reverse)
{
    struct profile *const look = look_new();

    for (unsigned i = 0; i < FUNCTIONS; i++) {
        const unsigned number = reverse ? FUNCTIONS - 1 - i : i;
        char name[16];

        snprintf(name, sizeof(name), "f%u", number);
        look_add(look, "/bin/a", name, 0x2000 + number * 8, 0, 1);
    }
    return look;
}

/* Each function is one row, by its own name, with its hits of the last look. */
static void
check_rows(const struct tui_table *table)
{
    assert_int_equal(table->count, FUNCTIONS);
    assert_int_equal(table->seen->row_count, FUNCTIONS);
    for (size_t i = 0; i < table->count; i++) {
        const char *const name = tui_table_full_name(table, i);

        assert_true(tui_table_is_head(table, i));
        assert_string_equal(tui_table_name(table, i), name);
        assert_int_equal(tui_table_recent(table, i, 0), 1);
        assert_int_equal(table->seen->rows[i].address, i);
    }
}

static void
table_take__an_allocation_fails__the_next_look_is_right(void **state)
{
    struct profile *const look = make_look(false);
    struct profile *const next = make_look(true);
    size_t failures = 0;
    bool done = false;

    (void)state;
    for (size_t i = 1; !done; i++) {
        struct tui_table table;

        tui_table_init(&table, TUI_FUNCTIONS);
        made = 0;
        fail_at = i;
        done = tui_table_take(&table, look);
        fail_at = 0;
        failures += !done;
        assert_true(tui_table_take(&table, next));
        check_rows(&table);
        tui_table_finish(&table);
    }
    assert_true(failures > 20);
    profile_delete(look);
    profile_delete(next);
}

/* Callers and callees are aimed at anew, or have all of the next look. */
static void
table_aim__an_allocation_fails__another_try_is_right(void **state)
{
    const struct tui_target target = {
        .image = "/bin/a",
        .build_id = "",
        .function = {.name = "f", .system_name = "f", .file = ""},
    };
    struct profile *const look = look_new();
    size_t failures = 0;
    bool done = false;

    (void)state;
    look_add_stack(look, "/bin/a", "mf", PROFILE_STACK_WHOLE, 1);
    look_add_stack(look, "/bin/a", "fx", "[cut at 16 kB]", 1);
    for (size_t i = 1; !done; i++) {
        struct tui_table table;

        tui_table_init(&table, TUI_CALLS);
        made = 0;
        fail_at = i;
        done = tui_table_aim(&table, &target) && tui_table_take(&table, look);
        fail_at = 0;
        failures += !done;
        assert_true(tui_table_aim(&table, &target) && tui_table_take(&table, look));
        assert_int_equal(table.count, 4);
        assert_int_equal(table.recent_sums[0], 2);
        tui_table_finish(&table);
    }
    assert_true(failures > 20);
    profile_delete(look);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_take__an_allocation_fails__the_next_look_is_right),
        cmocka_unit_test(table_aim__an_allocation_fails__another_try_is_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
