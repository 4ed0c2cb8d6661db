/* SPDX-License-Identifier: MIT */
/* table.c - looks added up by function and image. */
#include "view/screen/table.h"

#include "looks.h"

#include <stdio.h>

/* The number of a row; it must be there. */
static size_t
find(const struct tui_table *table, const char *image, const char *name)
{
    for (size_t i = 0; i < table->count; i++) {
        const char *const own = tui_table_name(table, i);

        if (strcmp(tui_table_image(table, i), image) == 0 &&
            (name == NULL ? own == NULL : own != NULL && strcmp(own, name) == 0)) {
            return i;
        }
    }
    fail_msg("no row %s of %s", name != NULL ? name : "(none)", image);
    return 0;
}

static void
take(struct tui_table *table, struct profile *look)
{
    assert_true(tui_table_take(table, look));
    profile_delete(look);
}

static void
table_take__two_looks__recent_of_the_last_and_totals_of_both(void **state)
{
    struct tui_table table;
    struct profile *look = look_new();
    size_t hot;
    size_t cold;

    (void)state;
    tui_table_init(&table, TUI_FUNCTIONS);
    look_add(look, "/bin/a", "hot", 0x2000, 0, 7);
    look_add(look, "/bin/a", "hot", 0x2004, 0, 3);
    look_add(look, "/bin/a", "hot", 0x2004, 1, 2);
    look_add(look, "/bin/b", "hot", 0x2000, 0, 1);
    look_add(look, "/bin/a", "cold", 0x3000, 0, 5);
    take(&table, look);
    assert_int_equal(table.count, 3);
    hot = find(&table, "/bin/a", "hot");
    cold = find(&table, "/bin/a", "cold");
    assert_int_equal(tui_table_recent(&table, hot, 0), 10);
    assert_int_equal(tui_table_recent(&table, hot, 1), 2);
    assert_int_equal(tui_table_recent(&table, find(&table, "/bin/b", "hot"), 0), 1);
    look = look_new();
    look_add(look, "/bin/a", "hot", 0x2008, 0, 4);
    take(&table, look);
    assert_int_equal(table.count, 3);
    assert_int_equal(find(&table, "/bin/a", "hot"), hot);
    assert_int_equal(tui_table_recent(&table, hot, 0), 4);
    assert_int_equal(tui_table_recent(&table, hot, 1), 0);
    assert_int_equal(tui_table_total(&table, hot, 0), 14);
    assert_int_equal(tui_table_total(&table, hot, 1), 2);
    assert_int_equal(tui_table_recent(&table, cold, 0), 0);
    assert_int_equal(tui_table_total(&table, cold, 0), 5);
    assert_int_equal(table.recent_sums[0], 4);
    assert_int_equal(table.total_sums[0], 20);
    assert_int_equal(table.total_sums[1], 2);
    tui_table_finish(&table);
}

static void
table_take__images__one_row_each(void **state)
{
    struct tui_table table;
    struct profile *const look = look_new();

    (void)state;
    tui_table_init(&table, TUI_IMAGES);
    look_add(look, "/bin/a", "one", 0x2000, 0, 7);
    look_add(look, "/bin/a", NULL, 0x3000, 0, 1);
    look_add(look, "/bin/b", "one", 0x2000, 0, 2);
    take(&table, look);
    assert_int_equal(table.count, 2);
    assert_int_equal(tui_table_total(&table, find(&table, "/bin/a", NULL), 0), 8);
    assert_int_equal(tui_table_total(&table, find(&table, "/bin/b", NULL), 0), 2);
    tui_table_finish(&table);
}

/* Add hits of a process in the kernel. */
static void
add_process_hits(struct profile *look, const char *process, uint64_t address,
                 uint64_t hits)
{
    const struct profile_image kernel = {.path = "[kernel]", .build_id = ""};
    struct profile_place place = {.address = address};

    assert_true(profile_add_image(look, &kernel, &place.image));
    assert_true(profile_add_process(look, process, &place.process));
    assert_true(profile_add_hits_at(look, &place, 0, hits));
}

static void
table_take__processes__one_row_each_with_all_their_images(void **state)
{
    struct tui_table table;
    struct profile *const look = look_new();

    (void)state;
    tui_table_init(&table, TUI_PROCESSES);
    add_process_hits(look, "dd", 0x1000, 3);
    add_process_hits(look, "dd", 0x2000, 4);
    add_process_hits(look, "[idle]", 0x1000, 2);
    take(&table, look);
    assert_int_equal(table.count, 2);
    assert_int_equal(tui_table_total(&table, find(&table, "dd", NULL), 0), 7);
    assert_int_equal(tui_table_total(&table, find(&table, "[idle]", NULL), 0), 2);
    tui_table_finish(&table);
}

static void
table_take__no_names__one_row_of_the_image(void **state)
{
    struct tui_table table;
    struct profile *look = look_new();
    size_t row;

    (void)state;
    tui_table_init(&table, TUI_FUNCTIONS);
    look_add(look, "/bin/a", NULL, 0x2010, 0, 1);
    look_add(look, "/bin/a", NULL, 0x2020, 0, 1);
    look_add(look, "/bin/b", NULL, 0x2020, 0, 5);
    take(&table, look);
    look = look_new();
    look_add(look, "/bin/a", NULL, 0x2010, 0, 1);
    take(&table, look);
    assert_int_equal(table.count, 2);
    row = find(&table, "/bin/a", "[no symbols] in a");
    assert_int_equal(tui_table_recent(&table, row, 0), 1);
    assert_int_equal(tui_table_total(&table, row, 0), 3);
    tui_table_finish(&table);
}

static void
table_take__bounds_without_a_name__a_row_for_each(void **state)
{
    struct tui_table table;
    struct profile *const look = look_new();

    (void)state;
    tui_table_init(&table, TUI_FUNCTIONS);
    look_add_placed(look, "/bin/a", "", "", 0x2000, 0x2010, 1);
    look_add_placed(look, "/bin/a", "", "", 0x2000, 0x2020, 2);
    look_add_placed(look, "/bin/a", "", "", 0x3000, 0x3000, 4);
    take(&table, look);
    assert_int_equal(table.head_count, 2);
    assert_int_equal(tui_table_total(&table, find(&table, "/bin/a", "a!0x2000"), 0), 3);
    assert_int_equal(tui_table_total(&table, find(&table, "/bin/a", "a!0x3000"), 0), 4);
    tui_table_finish(&table);
}

/* Static functions of two files; the second is seen only later. */
static void
table_take__two_functions_of_one_name__two_rows_told_apart(void **state)
{
    struct tui_table table;
    struct profile *look = look_new();

    (void)state;
    tui_table_init(&table, TUI_FUNCTIONS);
    look_add_placed(look, "/bin/a", "work", "/src/a.c", 0x2000, 0x2000, 7);
    take(&table, look);
    assert_int_equal(tui_table_total(&table, find(&table, "/bin/a", "work"), 0), 7);
    look = look_new();
    look_add_placed(look, "/bin/a", "work", "/src/b.c", 0x3000, 0x3000, 5);
    take(&table, look);
    assert_int_equal(table.head_count, 2);
    assert_int_equal(tui_table_total(&table, find(&table, "/bin/a", "work (a.c:9)"), 0),
                     7);
    assert_int_equal(tui_table_total(&table, find(&table, "/bin/a", "work (b.c:9)"), 0),
                     5);
    tui_table_finish(&table);
}

/* As #include in its body makes it: entries of two files, one address. */
static void
table_take__lines_in_two_files__one_row(void **state)
{
    struct tui_table table;
    struct profile *look = look_new();
    size_t row;

    (void)state;
    tui_table_init(&table, TUI_FUNCTIONS);
    look_add_placed(look, "/bin/a", "work", "/src/a.c", 0x2000, 0x2000, 7);
    look_add_placed(look, "/bin/a", "work", "/src/body.h", 0x2000, 0x2010, 2);
    take(&table, look);
    look = look_new();
    look_add_placed(look, "/bin/a", "work", "/src/body.h", 0x2000, 0x2010, 1);
    take(&table, look);
    assert_int_equal(table.head_count, 1);
    row = find(&table, "/bin/a", "work");
    assert_true(tui_table_is_head(&table, row));
    assert_int_equal(tui_table_recent(&table, row, 0), 1);
    assert_int_equal(tui_table_total(&table, row, 0), 10);
    tui_table_finish(&table);
}

static void
table_take__inlined_code__of_the_outer_function_or_with_what_it_is_in(void **state)
{
    static const enum tui_rows kinds[] = {TUI_FUNCTIONS, TUI_INLINED};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct tui_table table;
        struct profile *const look = look_new();

        tui_table_init(&table, kinds[i]);
        look_add(look, "/bin/a", "run", 0x2000, 0, 1);
        look_add_inlined(look, "/bin/a", "step", "run", 0x2010, 20);
        look_add_inlined(look, "/bin/a", "step", "walk", 0x3010, 300);
        take(&table, look);
        assert_int_equal(table.head_count, i == 0 ? 2 : 3);
        if (i == 0) {
            assert_int_equal(tui_table_total(&table, find(&table, "/bin/a", "run"), 0),
                             21);
            assert_int_equal(tui_table_total(&table, find(&table, "/bin/a", "walk"), 0),
                             300);
        } else {
            assert_int_equal(tui_table_total(&table, find(&table, "/bin/a", "run"), 0),
                             1);
            assert_int_equal(
                tui_table_total(&table, find(&table, "/bin/a", "step inlined in run"),
                                0),
                20);
            assert_int_equal(
                tui_table_total(&table, find(&table, "/bin/a", "step inlined in walk"),
                                0),
                300);
        }
        tui_table_finish(&table);
    }
}

static void
table_take__hits_beyond_64_bits__stay_at_the_largest(void **state)
{
    struct tui_table table;
    struct profile *look = look_new();

    (void)state;
    tui_table_init(&table, TUI_FUNCTIONS);
    look_add(look, "/bin/a", "hot", 0x2000, 0, UINT64_MAX - 1);
    take(&table, look);
    look = look_new();
    look_add(look, "/bin/a", "hot", 0x2000, 0, 5);
    take(&table, look);
    assert_int_equal(tui_table_recent(&table, 0, 0), 5);
    assert_true(tui_table_total(&table, 0, 0) == UINT64_MAX);
    assert_true(table.total_sums[0] == UINT64_MAX);
    tui_table_finish(&table);
}

static void
table_take__other_sources__refused_and_nothing_changed(void **state)
{
    struct tui_table table;
    struct profile *look = look_new();
    uint32_t index;
    const struct profile_source third = {.name = "x", .nt_name = "", .unit = "events"};

    (void)state;
    tui_table_init(&table, TUI_FUNCTIONS);
    look_add(look, "/bin/a", "hot", 0x2000, 0, 5);
    take(&table, look);
    look = look_new();
    assert_true(profile_add_source(look, &third, &index));
    look_add(look, "/bin/a", "hot", 0x2000, 2, 5);
    assert_false(tui_table_take(&table, look));
    profile_delete(look);
    assert_int_equal(table.looks, 1);
    assert_int_equal(tui_table_total(&table, 0, 0), 5);
    tui_table_finish(&table);
}

static void
table_take__many_looks_of_the_same__memory_does_not_grow(void **state)
{
    struct tui_table table;
    size_t capacity = 0;
    char name[16];

    (void)state;
    tui_table_init(&table, TUI_FUNCTIONS);
    for (int round = 0; round < 50; round++) {
        struct profile *const look = look_new();

        for (int i = 0; i < 1000; i++) {
            snprintf(name, sizeof(name), "f%d", i);
            look_add(look, "/bin/a", name, 0x2000 + 4 * (uint64_t)i, 0, 1);
        }
        take(&table, look);
        assert_int_equal(table.count, 1000);
        capacity = round == 0 ? table.capacity : capacity;
        assert_int_equal(table.capacity, capacity);
        assert_int_equal(table.seen->function_count, 1001);
        assert_int_equal(table.seen->row_count, 1000);
    }
    assert_int_equal(table.total_sums[0], 50000);
    tui_table_finish(&table);
}

static void
table_take__idle_processors__in_sums_of_their_own(void **state)
{
    static const enum tui_rows kinds[] = {TUI_FUNCTIONS, TUI_IMAGES};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct tui_table table;
        struct profile *look = look_new();

        tui_table_init(&table, kinds[i]);
        look_add(look, "[kernel]", "pv_native_safe_halt", 0x1000, 0, 40);
        look_add(look, "[kernel]", "mwait_idle_with_hints.constprop.0", 0x2000, 0, 20);
        look_add(look, "[kernel]", "default_idle_calls", 0x3000, 0, 5);
        look_add(look, "/bin/a", "poll_idle", 0x2000, 0, 7);
        look_add(look, "[kernel]", NULL, 0x4000, 0, 1);
        take(&table, look);
        assert_int_equal(table.count, i == 0 ? 3 : 2);
        assert_int_equal(table.recent_sums[0], 13);
        assert_int_equal(table.idle_recent[0], 60);
        assert_int_equal(table.idle_recent[1], 0);
        look = look_new();
        look_add(look, "[kernel]", "pv_native_safe_halt", 0x1004, 0, 3);
        take(&table, look);
        assert_int_equal(table.recent_sums[0], 0);
        assert_int_equal(table.total_sums[0], 13);
        assert_int_equal(table.idle_recent[0], 3);
        assert_int_equal(table.idle_totals[0], 63);
        tui_table_finish(&table);
    }
}

static const struct tui_target target_f = {
    .image = "/bin/a",
    .build_id = "",
    .function = {.name = "f", .system_name = "f", .file = ""},
};

/* Checks a row of callers and callees; there must be one if it has hits. */
static void
check_related(const struct tui_table *table, enum tui_relation relation,
              const char *name, uint64_t recent, uint64_t total)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].relation == relation &&
            strcmp(tui_table_name(table, i), name) == 0) {
            assert_int_equal(tui_table_recent(table, i, 0), recent);
            assert_int_equal(tui_table_total(table, i, 0), total);
            return;
        }
    }
    assert_int_equal(total, 0);
}

static void
table_take__calls__each_stack_once_by_the_outermost_call(void **state)
{
    struct tui_table table;
    struct profile *look = look_new();

    (void)state;
    tui_table_init(&table, TUI_CALLS);
    assert_true(tui_table_aim(&table, &target_f));
    look_add_stack(look, "/bin/a", "mf", PROFILE_STACK_WHOLE, 1);
    look_add_stack(look, "/bin/a", "mfx", PROFILE_STACK_WHOLE, 2);
    look_add_stack(look, "/bin/a", "mffxy", PROFILE_STACK_WHOLE, 4);
    look_add_stack(look, "/bin/a", "mfgfz", PROFILE_STACK_WHOLE, 8);
    look_add_stack(look, "/bin/a", "fx", PROFILE_STACK_WHOLE, 16);
    look_add_stack(look, "/bin/a", "fx", "[cut at 16 kB]", 32);
    look_add_stack(look, "/bin/a", "mx", PROFILE_STACK_WHOLE, 64);
    look_add_stack(look, "/bin/b", "mfx", PROFILE_STACK_WHOLE, 128);
    look_add(look, "/bin/a", "f", 0x2000, 0, 256); /* without a stack */
    take(&table, look);
    check_related(&table, TUI_CALLER, "m", 15, 15);
    check_related(&table, TUI_CALLER, "[no caller]", 16, 16);
    check_related(&table, TUI_CALLER, "[cut at 16 kB]", 32, 32);
    check_related(&table, TUI_ITSELF, "f", 1, 1);
    check_related(&table, TUI_CALLEE, "x", 54, 54);
    check_related(&table, TUI_CALLEE, "g", 8, 8);
    assert_int_equal(table.count, 6);
    assert_int_equal(table.recent_sums[0], 63);
    look = look_new();
    look_add_stack(look, "/bin/a", "mfx", PROFILE_STACK_WHOLE, 3);
    take(&table, look);
    check_related(&table, TUI_CALLER, "m", 3, 18);
    check_related(&table, TUI_CALLEE, "g", 0, 8);
    check_related(&table, TUI_CALLEE, "x", 3, 57);
    assert_int_equal(table.recent_sums[0], 3);
    assert_int_equal(table.total_sums[0], 66);
    tui_table_finish(&table);
}

static void
table_aim__at_a_row_of_itself__rows_of_that(void **state)
{
    struct tui_table table;
    struct tui_target target;
    struct profile *look = look_new();

    (void)state;
    tui_table_init(&table, TUI_CALLS);
    look_add_stack(look, "/bin/a", "lmf", PROFILE_STACK_WHOLE, 1);
    assert_true(tui_table_take(&table, look)); /* without a target */
    assert_int_equal(table.count, 0);
    assert_true(tui_table_aim(&table, &target_f));
    assert_true(tui_table_take(&table, look));
    target = tui_table_target(&table, 0);
    assert_string_equal(target.function.name, "m");
    assert_true(tui_table_aim(&table, &target));
    assert_int_equal(table.count, 0);
    assert_true(tui_table_take(&table, look));
    check_related(&table, TUI_CALLER, "l", 1, 1);
    check_related(&table, TUI_CALLEE, "f", 1, 1);
    tui_table_clear_recent(&table);
    check_related(&table, TUI_CALLER, "l", 0, 1);
    profile_delete(look);
    tui_table_finish(&table);
}

static void
table_take__hits_in_no_row__of_all_hits_unless_rows_are_selected(void **state)
{
    static const uint64_t sums[] = {15, 5};

    (void)state;
    for (size_t selected = 0; selected < 2; selected++) {
        struct profile *const look = look_new();
        struct tui_table table;

        tui_table_init(&table, TUI_FUNCTIONS);
        look_add(look, "/bin/a", "hot", 0x2000, 0, 5);
        look->sources[0].outside = 10;
        look->rows_selected = selected != 0;
        take(&table, look);
        assert_int_equal(table.recent_sums[0], sums[selected]);
        assert_int_equal(table.total_sums[0], sums[selected]);
        assert_int_equal(tui_table_total(&table, 0, 0), 5);
        tui_table_finish(&table);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_take__two_looks__recent_of_the_last_and_totals_of_both),
        cmocka_unit_test(table_take__images__one_row_each),
        cmocka_unit_test(table_take__processes__one_row_each_with_all_their_images),
        cmocka_unit_test(table_take__no_names__one_row_of_the_image),
        cmocka_unit_test(table_take__bounds_without_a_name__a_row_for_each),
        cmocka_unit_test(table_take__two_functions_of_one_name__two_rows_told_apart),
        cmocka_unit_test(table_take__lines_in_two_files__one_row),
        cmocka_unit_test(
            table_take__inlined_code__of_the_outer_function_or_with_what_it_is_in),
        cmocka_unit_test(table_take__hits_beyond_64_bits__stay_at_the_largest),
        cmocka_unit_test(table_take__other_sources__refused_and_nothing_changed),
        cmocka_unit_test(table_take__idle_processors__in_sums_of_their_own),
        cmocka_unit_test(table_take__calls__each_stack_once_by_the_outermost_call),
        cmocka_unit_test(table_aim__at_a_row_of_itself__rows_of_that),
        cmocka_unit_test(
            table_take__hits_in_no_row__of_all_hits_unless_rows_are_selected),
        cmocka_unit_test(table_take__many_looks_of_the_same__memory_does_not_grow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
