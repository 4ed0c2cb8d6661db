/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "profile/join.h"

/* Add a call without a name. */
static uint32_t
call(struct profile *profile, uint64_t address, uint32_t caller)
{
    return fixture_call(profile, address, 0, caller);
}

static void
new_profile__nothing_added__has_no_stacks(void **state)
{
    struct profile *profile = fixture_small();

    (void)state;
    assert_int_equal(profile->call_count, 1);
    assert_null(profile->calls[0].end);
    assert_int_equal(profile->rows[0].stack, 0);
    profile_delete(profile);
}

static void
add_call__equal_keys__one_index(void **state)
{
    struct profile *profile = fixture_small();
    const uint32_t whole = fixture_end(profile, PROFILE_STACK_WHOLE);
    const uint32_t outer = call(profile, 0x1100, whole);
    const uint32_t inner = call(profile, 0x1100, outer);

    (void)state;
    assert_int_equal(whole, 1);
    assert_int_equal(outer, 2);
    assert_int_equal(inner, 3);
    assert_int_equal(fixture_end(profile, "whole"), whole);
    assert_int_equal(call(profile, 0x1100, whole), outer);
    assert_int_equal(call(profile, 0x1100, outer), inner);
    assert_int_equal(profile->call_count, 4);
    profile_delete(profile);
}

static void
add_call__named_later__found_by_its_place(void **state)
{
    struct profile *profile = fixture_small();
    const uint32_t outer =
        call(profile, 0x1100, fixture_end(profile, PROFILE_STACK_WHOLE));

    (void)state;
    profile->calls[outer].function = 1;
    profile->calls[outer].line = 7;
    assert_int_equal(call(profile, 0x1100, 1), outer);
    assert_int_equal(profile->calls[outer].line, 7);
    profile_delete(profile);
}

static void
add_call__by_name__one_for_each_name(void **state)
{
    struct profile *profile = fixture_small();
    struct profile_call added = {.caller = fixture_end(profile, PROFILE_STACK_WHOLE),
                                 .by_name = true};
    uint32_t first, second;

    (void)state;
    added.function = 1;
    assert_true(profile_add_call(profile, &added, &first));
    added.line = 3;
    assert_true(profile_add_call(profile, &added, &second));
    assert_int_not_equal(first, second);
    added.line = 0;
    assert_true(profile_add_call(profile, &added, &second));
    assert_int_equal(first, second);
    profile_delete(profile);
}

static void
add_call__end_in_brackets__has_a_function_of_its_name(void **state)
{
    struct profile *profile = fixture_small();
    const uint32_t cut = fixture_end(profile, "[cut at 16 kB]");
    const uint32_t whole = fixture_end(profile, PROFILE_STACK_WHOLE);

    (void)state;
    assert_string_equal(profile->functions[profile->calls[cut].function].name,
                        "[cut at 16 kB]");
    assert_int_equal(profile->calls[whole].function, 0);
    profile_delete(profile);
}

static void
add_call__no_such_index__refused(void **state)
{
    struct profile *profile = fixture_small();
    const uint32_t whole = fixture_end(profile, PROFILE_STACK_WHOLE);
    const struct profile_call bad[] = {
        {.address = 1},
        {.caller = whole + 1},
        {.caller = whole, .image = 2},
        {.caller = whole, .function = 99},
        {.caller = whole, .function = 1, .inlined = 1},
        {.end = "[deep]", .caller = whole},
    };
    const struct profile_place place = {.image = 1, .stack = whole + 1};
    uint32_t index;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(profile_add_call(profile, &bad[i], &index));
    }
    assert_int_equal(profile->call_count, 2);
    assert_false(profile_add_hits_at(profile, &place, 0, 1));
    assert_int_equal(profile->row_count, 3);
    profile_delete(profile);
}

static void
add_hits__other_stack__new_row(void **state)
{
    struct profile *profile = fixture_small();
    struct profile_place place = {.image = 1, .address = 0x1200, .function = 1};

    (void)state;
    place.stack = call(profile, 0x1100, fixture_end(profile, PROFILE_STACK_WHOLE));
    assert_true(profile_add_hits_at(profile, &place, 0, 5));
    assert_true(profile_add_hits_at(profile, &place, 0, 6));
    assert_int_equal(profile->row_count, 4);
    assert_int_equal(profile->rows[0].hits[0], 150);
    assert_int_equal(profile->rows[3].hits[0], 11);
    assert_int_equal(profile->rows[3].stack, place.stack);
    profile_delete(profile);
}

static void
remove_stacks__rows_of_several_stacks__summed(void **state)
{
    struct profile *profile = fixture_small();
    struct profile *flat = fixture_small();
    struct profile_place place = {.image = 1, .address = 0x1200, .function = 1};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        place.stack =
            call(profile, 0x1100 + i, fixture_end(profile, PROFILE_STACK_WHOLE));
        place.address = 0x1200;
        assert_true(profile_add_hits_at(profile, &place, 0, 5));
        place.address = 0x1600;
        assert_true(profile_add_hits_at(profile, &place, 0, i));
    }
    place.stack = 0;
    place.address = 0x1200;
    assert_true(profile_add_hits_at(flat, &place, 0, 15));
    place.address = 0x1600;
    assert_true(profile_add_hits_at(flat, &place, 0, 3));
    profile_sort(profile);
    profile_sort(flat);

    assert_int_equal(profile->row_count, 9);
    assert_true(profile_remove_stacks(profile));
    assert_int_equal(profile->call_count, 1);
    profile_sort(profile);
    fixture_assert_rows_equal(profile, flat);

    /* It can be added to. */
    assert_true(profile_add_hits_at(profile, &place, 0, 1));
    assert_int_equal(profile->row_count, 4);
    profile_delete(flat);
    profile_delete(profile);
}

/* A profile with hits of two intervals, in two stacks. */
static struct profile *
make_intervals(void)
{
    struct profile *profile = profile_new();
    struct profile_place place = {.address = 0x1200};

    fixture_source(profile, "time", "100ns", 10000);
    fixture_source(profile, "time", "100ns", 30000);
    fixture_image(profile, "/lib/libwork.so.6", "");
    place.image = fixture_image(profile, "/usr/bin/work", "ab");
    place.process = fixture_process(profile, "work");
    for (uint32_t i = 0; i < 2; i++) {
        place.stack =
            call(profile, 0x1100 + i, fixture_end(profile, PROFILE_STACK_WHOLE));
        assert_true(profile_add_hits_at(profile, &place, 0, 5));
        assert_true(profile_add_hits_at(profile, &place, 1, 7));
    }
    return profile;
}

static void
remove_stacks__intervals_joined__same_as_before(void **state)
{
    struct profile *before = make_intervals();
    struct profile *after = make_intervals();
    struct pprof_error error;

    (void)state;
    assert_true(profile_remove_stacks(before));
    assert_true(profile_join_intervals(before, &error));
    assert_true(profile_join_intervals(after, &error));
    assert_true(profile_remove_stacks(after));

    assert_int_equal(after->row_count, 1);
    assert_int_equal(profile_width(after), 3);
    assert_int_equal(after->rows[0].hits[0], 10 + 14 * 3);
    assert_memory_equal(after->rows[0].hits, before->rows[0].hits,
                        profile_width(after) * sizeof(uint64_t));
    profile_delete(after);
    profile_delete(before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_profile__nothing_added__has_no_stacks),
        cmocka_unit_test(add_call__equal_keys__one_index),
        cmocka_unit_test(add_call__named_later__found_by_its_place),
        cmocka_unit_test(add_call__by_name__one_for_each_name),
        cmocka_unit_test(add_call__end_in_brackets__has_a_function_of_its_name),
        cmocka_unit_test(add_call__no_such_index__refused),
        cmocka_unit_test(add_hits__other_stack__new_row),
        cmocka_unit_test(remove_stacks__rows_of_several_stacks__summed),
        cmocka_unit_test(remove_stacks__intervals_joined__same_as_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
