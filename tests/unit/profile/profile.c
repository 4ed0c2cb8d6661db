/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdio.h>

static void
add_hits__same_keys__one_row(void **state)
{
    struct profile *profile = fixture_small();

    (void)state;
    assert_true(profile_add_hits(profile, 1, 0x1200, 0, 2, 99, 0, 5));
    assert_int_equal(profile->row_count, 3);
    assert_int_equal(profile->rows[0].hits[0], 155);
    assert_int_equal(profile->rows[0].function, 1);
    assert_int_equal(profile->rows[0].line, 12);
    profile_delete(profile);
}

static void
add_hits__other_key__new_row(void **state)
{
    struct profile *profile = fixture_small();
    const uint32_t other = fixture_process(profile, "other");

    (void)state;
    assert_true(profile_add_hits(profile, 1, 0x1200, other, 1, 12, 0, 5));
    assert_true(profile_add_hits(profile, 0, 0x1200, 0, 1, 12, 0, 5));
    assert_true(profile_add_hits(profile, 1, 0x1204, 0, 1, 12, 0, 5));
    assert_int_equal(profile->row_count, 6);
    assert_int_equal(profile->rows[0].hits[0], 150);
    profile_delete(profile);
}

static void
add_hits__index_that_is_none__refused(void **state)
{
    struct profile *profile = fixture_small();

    (void)state;
    assert_false(profile_add_hits(profile, 2, 0, 0, 0, 0, 0, 1));
    assert_false(profile_add_hits(profile, 0, 0, 1, 0, 0, 0, 1));
    assert_false(profile_add_hits(profile, 0, 0, 0, 3, 0, 0, 1));
    assert_false(profile_add_hits(profile, 0, 0, 0, 0, 0, 1, 1));
    assert_int_equal(profile->row_count, 3);
    profile_delete(profile);
}

static void
add_hits__sum_beyond_64_bits__stays_at_the_end(void **state)
{
    struct profile *profile = fixture_small();

    (void)state;
    assert_true(profile_add_hits(profile, 1, 0x1200, 0, 0, 0, 0, UINT64_MAX - 1));
    assert_int_equal(profile->rows[0].hits[0], UINT64_MAX);
    profile_delete(profile);
}

static void
add_hits__line_without_function__dropped(void **state)
{
    struct profile *profile = fixture_small();

    (void)state;
    assert_true(profile_add_hits(profile, 0, 0x3000, 0, 0, 77, 0, 1));
    assert_int_equal(profile->rows[3].line, 0);
    profile_delete(profile);
}

static void
add_source__after_rows__refused(void **state)
{
    struct profile *profile = fixture_small();
    const struct profile_source source = {.name = "faults"};
    uint32_t index;

    (void)state;
    assert_false(profile_add_source(profile, &source, &index));
    assert_int_equal(profile->source_count, 1);
    profile_delete(profile);
}

static void
add__equal_entries__one_index(void **state)
{
    struct profile *profile = fixture_small();
    const size_t images = profile->image_count;
    const size_t functions = profile->function_count;

    (void)state;
    assert_int_equal(fixture_image(profile, "/usr/bin/work", "0123456789abcdef0123"),
                     1);
    assert_int_equal(fixture_function(profile, "rest", "rest"), 2);
    assert_int_equal(fixture_process(profile, "work"), 0);
    assert_int_equal(fixture_source(profile, "time", "100ns", 10030), 0);
    assert_int_equal(profile->image_count, images);
    assert_int_equal(profile->function_count, functions);
    assert_int_equal(profile->sources[0].granted, 10030);
    profile_delete(profile);
}

static void
add_function__defined_in_its_file__as_one_without_definition(void **state)
{
    struct profile *profile = fixture_small();
    struct profile_function function = {
        .name = "f", .system_name = "f", .file = "/src/f.c"};
    uint32_t without;
    uint32_t index;

    (void)state;
    assert_true(profile_add_function(profile, &function, &without));
    function.definition = "/src/f.c";
    assert_true(profile_add_function(profile, &function, &index));
    assert_int_equal(index, without);
    function.definition = "/src/../src/f.c";
    assert_true(profile_add_function(profile, &function, &index));
    assert_int_equal(index, without);
    function.definition = "/src/f.h";
    assert_true(profile_add_function(profile, &function, &index));
    assert_int_equal(index, without + 1);
    assert_string_equal(profile->functions[without].definition, "");
    profile_delete(profile);
}

static void
string__equal_texts__one_pointer(void **state)
{
    struct profile *profile = fixture_small();
    char text[] = "work(int)";

    (void)state;
    assert_ptr_equal(profile_string(profile, text), profile->functions[1].name);
    assert_ptr_not_equal(profile_string(profile, "work"), profile->functions[1].name);
    profile_delete(profile);
}

static void
sort__rows__largest_first_and_found_again(void **state)
{
    struct profile *profile = fixture_small();

    (void)state;
    assert_true(profile_add_hits(profile, 1, 0x1300, 0, 0, 0, 0, 1000));
    profile_sort(profile);
    assert_int_equal(profile->rows[0].address, 0x1300);
    assert_int_equal(profile->rows[0].hits[0], 1030);
    assert_int_equal(profile->rows[2].hits[0], 20);
    assert_true(profile_add_hits(profile, 1, 0x1200, 0, 0, 0, 0, 1));
    assert_int_equal(profile->row_count, 3);
    assert_int_equal(profile->rows[1].hits[0], 151);
    profile_delete(profile);
}

static void
sort__equal_hits__by_address(void **state)
{
    struct profile *profile = fixture_small();

    (void)state;
    for (uint64_t address = 0x5000; address > 0x4000; address -= 0x100) {
        assert_true(profile_add_hits(profile, 0, address, 0, 0, 0, 0, 1));
    }
    profile_sort(profile);
    for (size_t i = 4; i < profile->row_count; i++) {
        assert_true(profile->rows[i - 1].address < profile->rows[i].address);
    }
    profile_delete(profile);
}

static void
add_hits__many_rows__all_found_again(void **state)
{
    enum { ROWS = 1000000 };
    struct profile *profile = fixture_small();

    (void)state;
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < ROWS; i++) {
            assert_true(
                profile_add_hits(profile, 0, 0x10000 + i * 4, 0, 0, 0, 0, i + 1));
        }
    }
    assert_int_equal(profile->row_count, ROWS + 3);
    for (uint64_t i = 0; i < ROWS; i++) {
        if (profile->rows[i + 3].hits[0] != 2 * (i + 1)) {
            fail_msg("row %llu", (unsigned long long)i);
        }
    }
    profile_delete(profile);
}

static void
functions__many__all_apart(void **state)
{
    struct profile *profile = fixture_small();

    (void)state;
    for (uint32_t i = 0; i < 50000; i++) {
        char name[32];

        snprintf(name, sizeof(name), "function_%u", i);
        assert_int_equal(fixture_function(profile, name, name), i + 3);
    }
    assert_string_equal(profile->functions[3].name, "function_0");
    assert_string_equal(profile->functions[50002].name, "function_49999");
    profile_delete(profile);
}

static void
add_frame__no_such_function_or_caller__refused(void **state)
{
    static const struct profile_frame bad[] = {
        {.function = 0, .line = 1},
        {.function = 99, .line = 1},
        {.function = 1, .line = 1, .caller = 1},
    };
    struct profile *profile = fixture_small();
    const struct profile_place place = {
        .image = 1, .address = 4, .function = 1, .caller = 1};
    uint32_t index;

    (void)state;
    assert_int_equal(profile->frame_count, 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(profile_add_frame(profile, &bad[i], &index));
    }
    assert_int_equal(profile->frame_count, 1);
    assert_false(profile_add_hits_at(profile, &place, 0, 1));
    assert_int_equal(profile->row_count, 3);
    profile_delete(profile);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_frame__no_such_function_or_caller__refused),
        cmocka_unit_test(add_hits__same_keys__one_row),
        cmocka_unit_test(add_hits__other_key__new_row),
        cmocka_unit_test(add_hits__index_that_is_none__refused),
        cmocka_unit_test(add_hits__sum_beyond_64_bits__stays_at_the_end),
        cmocka_unit_test(add_hits__line_without_function__dropped),
        cmocka_unit_test(add_source__after_rows__refused),
        cmocka_unit_test(add__equal_entries__one_index),
        cmocka_unit_test(add_function__defined_in_its_file__as_one_without_definition),
        cmocka_unit_test(string__equal_texts__one_pointer),
        cmocka_unit_test(sort__rows__largest_first_and_found_again),
        cmocka_unit_test(sort__equal_hits__by_address),
        cmocka_unit_test(add_hits__many_rows__all_found_again),
        cmocka_unit_test(functions__many__all_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
