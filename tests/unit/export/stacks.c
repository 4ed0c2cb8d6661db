/* SPDX-License-Identifier: MIT */
/* stacks.c - rows as stacks, whose callers may have no name. */
#include "../profile/fixture.h"

#include "base/buffer.h"
#include "view/export/stacks.h"

/* Append the names of a stack's frames, outermost first. */
static void
put_stack(const struct export_stacks *stacks, uint32_t node, struct buffer *out)
{
    struct buffer path = {0};

    assert_true(export_stacks_path(stacks, node, &path));
    for (size_t i = 0; i < path.size / sizeof(uint32_t); i++) {
        uint32_t frame;

        memcpy(&frame, path.data + i * sizeof(frame), sizeof(frame));
        buffer_print(out, "%s%s", i > 0 ? ";" : "", export_stacks_name(stacks, frame));
    }
    buffer_append_byte(out, '\n');
    buffer_finish(&path);
}

static uint32_t
add_nameless_call(struct profile *profile, uint32_t image, uint32_t caller)
{
    const struct profile_function function = {.name = "",
                                              .system_name = "",
                                              .file = "",
                                              .has_address = true,
                                              .address = 0x1500};
    struct profile_call call = {.address = 0x1510, .image = image, .caller = caller};
    uint32_t index;

    assert_true(profile_add_function(profile, &function, &call.function));
    assert_true(profile_add_call(profile, &call, &index));
    return index;
}

/* Stripped libraries: a function of each begins at the same address. */
static void
build__nameless_callers_of_two_images__each_has_its_image(void **state)
{
    struct profile *profile = fixture_small();
    const uint32_t whole = fixture_end(profile, PROFILE_STACK_WHOLE);
    const uint32_t of_library = add_nameless_call(profile, 0, whole);
    struct export_stacks stacks = {0};
    struct buffer text = {0};

    (void)state;
    fixture_stack_hits(profile, add_nameless_call(profile, 1, of_library), 7);
    assert_true(export_stacks_build(&stacks, profile, /* places */ false));
    put_stack(&stacks, stacks.node_of_row[profile->row_count - 1], &text);
    assert_string_equal(buffer_text(&text),
                        "work;libwork.so.6!0x1500;work!0x1500;work(int)\n");
    buffer_finish(&text);
    export_stacks_finish(&stacks);
    profile_delete(profile);
}

static uint32_t
add_helper(struct profile *profile, const char *file, uint64_t address)
{
    const struct profile_function function = {.name = "helper",
                                              .system_name = "helper",
                                              .file = file,
                                              .start_line = 10,
                                              .has_address = true,
                                              .address = address};
    uint32_t index;

    assert_true(profile_add_function(profile, &function, &index));
    return index;
}

/* Two static functions of one name are hit, and call. */
static void
build__callers_of_one_name__apart_and_named_as_rows(void **state)
{
    struct profile *profile = fixture_small();
    const uint32_t whole = fixture_end(profile, PROFILE_STACK_WHOLE);
    const uint32_t helpers[] = {add_helper(profile, "a.c", 0x1500),
                                add_helper(profile, "b.c", 0x1600)};
    struct export_stacks stacks = {0};
    struct buffer text = {0};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const uint64_t address = profile->functions[helpers[i]].address;
        const struct profile_place place = {.image = 1,
                                            .address = address + 16,
                                            .function = helpers[i],
                                            .stack = whole};

        assert_true(profile_add_hits_at(profile, &place, 0, 5));
        fixture_stack_hits(profile,
                           fixture_call(profile, address + 8, helpers[i], whole), 7);
    }
    assert_true(export_stacks_build(&stacks, profile, /* places */ false));
    for (size_t i = 0; i < 4; i++) {
        put_stack(&stacks, stacks.node_of_row[profile->row_count - 4 + i], &text);
    }
    assert_string_equal(buffer_text(&text), "work;helper (a.c:10)\n"
                                            "work;helper (a.c:10);work(int)\n"
                                            "work;helper (b.c:10)\n"
                                            "work;helper (b.c:10);work(int)\n");
    buffer_finish(&text);
    export_stacks_finish(&stacks);
    profile_delete(profile);
}

/* Two images have a function of one name, which calls the same one. */
static void
build__callers_of_one_name_in_two_images__each_has_its_image(void **state)
{
    struct profile *profile = fixture_small();
    const uint32_t whole = fixture_end(profile, PROFILE_STACK_WHOLE);
    const uint32_t helper = add_helper(profile, "", 0x1500);
    struct export_stacks stacks = {0};
    struct buffer text = {0};

    (void)state;
    for (uint32_t image = 0; image < 2; image++) {
        struct profile_call call = {
            .address = 0x1508, .image = image, .function = helper, .caller = whole};
        uint32_t index;

        assert_true(profile_add_call(profile, &call, &index));
        fixture_stack_hits(profile, index, 7);
    }
    assert_true(export_stacks_build(&stacks, profile, /* places */ false));
    for (size_t i = 0; i < 2; i++) {
        put_stack(&stacks, stacks.node_of_row[profile->row_count - 2 + i], &text);
    }
    assert_string_equal(buffer_text(&text), "work;helper (libwork.so.6);work(int)\n"
                                            "work;helper (work);work(int)\n");
    buffer_finish(&text);
    export_stacks_finish(&stacks);
    profile_delete(profile);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(build__nameless_callers_of_two_images__each_has_its_image),
        cmocka_unit_test(build__callers_of_one_name__apart_and_named_as_rows),
        cmocka_unit_test(build__callers_of_one_name_in_two_images__each_has_its_image),
    };

    return cmocka_run_group_tests_name("stacks", tests, NULL, NULL);
}
