/* SPDX-License-Identifier: MIT */
#include "profile/identity.h"
#include "fixture.h"

/* fixture - a profile whose rows are compared. */
struct fixture {
    struct profile *profile;
    uint32_t process;
    uint64_t next_address; /* of the next row's bucket: all differ */
};

static struct fixture
begin(void)
{
    struct fixture it = {.profile = profile_new(), .next_address = 0x100000};

    assert_non_null(it.profile);
    fixture_source(it.profile, "time", "100ns", 10000);
    it.process = fixture_process(it.profile, "work");
    return it;
}

static uint32_t
add_function(struct fixture *it, const char *name, const char *file, uint32_t line)
{
    const struct profile_function function = {
        .name = name, .system_name = name, .file = file, .start_line = line};
    uint32_t index;

    assert_true(profile_add_function(it->profile, &function, &index));
    return index;
}

/* Add a function with an address; a name of "" is code with bounds only. */
static uint32_t
add_placed(struct fixture *it, const char *name, const char *file, uint64_t address)
{
    const struct profile_function function = {.name = name,
                                              .system_name = name,
                                              .file = file,
                                              .has_address = true,
                                              .address = address};
    uint32_t index;

    assert_true(profile_add_function(it->profile, &function, &index));
    return index;
}

/* Add a row of a function that was inlined into outer, unless that is 0. */
static size_t
add_row(struct fixture *it, uint32_t image, uint32_t function, uint32_t outer)
{
    const struct profile_frame frame = {.function = outer, .line = 1};
    struct profile_place place = {.image = image,
                                  .process = it->process,
                                  .address = it->next_address++,
                                  .function = function};

    if (outer != 0) {
        assert_true(profile_add_frame(it->profile, &frame, &place.caller));
    }
    assert_true(profile_add_hits_at(it->profile, &place, 0, 1));
    return it->profile->row_count - 1;
}

static void
assert_outer(const struct fixture *it, size_t a, size_t b, bool same)
{
    struct identities identities;

    assert_true(identities_find(it->profile, &identities));
    assert_int_equal(identities.outer[a] == identities.outer[b], same);
    identities_finish(&identities);
}

static void
assert_inner(const struct fixture *it, size_t a, size_t b, bool same)
{
    struct identities identities;

    assert_true(identities_find(it->profile, &identities));
    assert_int_equal(identities.inner[a] == identities.inner[b], same);
    identities_finish(&identities);
}

static void
one_build__functions_of_one_name__are_their_addresses(void **state)
{
    struct fixture it = begin();
    const uint32_t image = fixture_image(it.profile, "/bin/work", "aa");
    const size_t first = add_row(&it, image, add_placed(&it, "f", "a.c", 0x10), 0);
    const size_t again = add_row(&it, image, add_placed(&it, "f", "a.inc", 0x10), 0);
    const size_t other = add_row(&it, image, add_placed(&it, "f", "a.c", 0x20), 0);

    (void)state;
    assert_outer(&it, first, again, true);
    assert_outer(&it, first, other, false);
    profile_delete(it.profile);
}

static void
one_build__no_addresses__names_and_files(void **state)
{
    struct fixture it = begin();
    const uint32_t image = fixture_image(it.profile, "/bin/work", "");
    const size_t first = add_row(&it, image, add_function(&it, "f", "a.c", 1), 0);
    const size_t again = add_row(&it, image, add_function(&it, "f", "a.c", 7), 0);
    const size_t other = add_row(&it, image, add_function(&it, "f", "b.c", 1), 0);

    (void)state;
    assert_outer(&it, first, again, true);
    assert_outer(&it, first, other, false);
    profile_delete(it.profile);
}

static void
inlined__a_definition__whatever_it_is_inlined_into(void **state)
{
    struct fixture it = begin();
    const uint32_t image = fixture_image(it.profile, "/bin/work", "aa");
    const uint32_t here = add_placed(&it, "here", "a.cc", 0x10);
    const uint32_t there = add_placed(&it, "there", "a.cc", 0x20);
    const uint32_t lambda = add_function(&it, "operator()", "a.cc", 3);
    const size_t first = add_row(&it, image, lambda, here);
    const size_t second = add_row(&it, image, lambda, there);
    const size_t other =
        add_row(&it, image, add_function(&it, "operator()", "a.cc", 9), here);
    const size_t plain = add_row(&it, image, here, 0);

    (void)state;
    assert_inner(&it, first, second, true);
    assert_outer(&it, first, second, false);
    assert_inner(&it, first, other, false);
    assert_outer(&it, first, other, true);
    assert_outer(&it, first, plain, true);
    assert_inner(&it, first, plain, false);
    profile_delete(it.profile);
}

static void
several_builds__name_and_where_a_build_has_several_file(void **state)
{
    struct fixture it = begin();
    const uint32_t old_image = fixture_image(it.profile, "/bin/work", "aa");
    const uint32_t new_image = fixture_image(it.profile, "/bin/work", "bb");
    const uint32_t elsewhere = fixture_image(it.profile, "/bin/other", "aa");
    const size_t old_f = add_row(&it, old_image, add_placed(&it, "f", "a.c", 0x10), 0);
    const size_t new_f = add_row(&it, new_image, add_placed(&it, "f", "a.c", 0x30), 0);
    const size_t other_f =
        add_row(&it, elsewhere, add_placed(&it, "f", "a.c", 0x10), 0);
    const size_t old_g = add_row(&it, old_image, add_placed(&it, "g", "a.c", 0x40), 0);
    const size_t new_g = add_row(&it, new_image, add_placed(&it, "g", "a.c", 0x40), 0);
    const size_t twin_g = add_row(&it, new_image, add_placed(&it, "g", "a.c", 0x50), 0);
    const size_t old_h =
        add_row(&it, old_image, add_placed(&it, "h", "/one/a.c", 0x60), 0);
    const size_t new_h =
        add_row(&it, new_image, add_placed(&it, "h", "/two/a.c", 0x70), 0);
    const size_t old_k = add_row(&it, old_image, add_placed(&it, "k", "a.c", 0x80), 0);
    const size_t new_k_renamed =
        add_row(&it, new_image, add_placed(&it, "k", "", 0x80), 0);
    const size_t old_m =
        add_row(&it, old_image, add_placed(&it, "m", "/one/a.c", 0x90), 0);
    const size_t new_m =
        add_row(&it, new_image, add_placed(&it, "m", "/two/a.c", 0xa0), 0);
    const size_t new_other_m =
        add_row(&it, new_image, add_placed(&it, "m", "/two/b.c", 0xb0), 0);

    (void)state;
    assert_outer(&it, old_f, new_f, true);
    assert_outer(&it, old_f, other_f, false);
    assert_outer(&it, old_g, new_g, true);
    assert_outer(&it, new_g, twin_g, true); /* in old there was one of the two */
    assert_outer(&it, old_h, new_h, true);
    assert_outer(&it, old_k, new_k_renamed, true);
    assert_outer(&it, old_m, new_m, true);
    assert_outer(&it, new_m, new_other_m, false);
    profile_delete(it.profile);
}

static void
one_build__recorded_with_and_without_addresses__one_function(void **state)
{
    struct fixture it = begin();
    const uint32_t image = fixture_image(it.profile, "/bin/work", "aa");
    const size_t placed = add_row(&it, image, add_placed(&it, "f", "a.c", 0x10), 0);
    const size_t named = add_row(&it, image, add_function(&it, "f", "a.c", 0), 0);

    (void)state;
    assert_outer(&it, placed, named, true);
    profile_delete(it.profile);
}

static void
no_names__bounds_or_the_whole_image(void **state)
{
    struct fixture it = begin();
    const uint32_t image = fixture_image(it.profile, "/bin/work", "aa");
    const uint32_t other_build = fixture_image(it.profile, "/bin/work", "bb");
    const size_t bounds = add_row(&it, image, add_placed(&it, "", "", 0x10), 0);
    const size_t again = add_row(&it, image, add_placed(&it, "", "", 0x10), 0);
    const size_t elsewhere = add_row(&it, image, add_placed(&it, "", "", 0x20), 0);
    const size_t rebuilt = add_row(&it, other_build, add_placed(&it, "", "", 0x10), 0);
    const size_t nothing = add_row(&it, image, 0, 0);
    const size_t nothing_too = add_row(&it, other_build, 0, 0);

    (void)state;
    assert_outer(&it, bounds, again, true);
    assert_outer(&it, bounds, elsewhere, false);
    assert_outer(&it, bounds, rebuilt, false);
    assert_outer(&it, bounds, nothing, false);
    assert_outer(&it, nothing, nothing_too, true);
    profile_delete(it.profile);
}

static void
stacks__a_function_that_calls__has_the_number_of_its_rows(void **state)
{
    struct profile *profile = fixture_stacks();
    const uint32_t cut = fixture_end(profile, "[cut at 16 kB]");
    const uint32_t whole = fixture_end(profile, PROFILE_STACK_WHOLE);
    const uint32_t by_rest = fixture_call(profile, 0x1310, 2, cut);
    const struct profile_image *image;
    struct identities identities;

    (void)state;
    assert_true(identities_find(profile, &identities));
    assert_int_equal(identities.calls[by_rest], identities.outer[1]);
    assert_int_not_equal(identities.calls[by_rest], identities.outer[0]);
    assert_int_equal(identities.calls[0], IDENTITY_NONE);
    assert_int_equal(identities.calls[whole], IDENTITY_NONE);
    assert_string_equal(
        identity_function(&identities, identities.calls[cut], &image)->name,
        "[cut at 16 kB]");
    assert_string_equal(image->path, "[stack]");
    assert_string_equal(
        identity_function(&identities, identities.calls[by_rest], &image)->name,
        "rest");
    assert_string_equal(image->path, "/usr/bin/work");
    identities_finish(&identities);
    profile_delete(profile);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_build__functions_of_one_name__are_their_addresses),
        cmocka_unit_test(one_build__no_addresses__names_and_files),
        cmocka_unit_test(inlined__a_definition__whatever_it_is_inlined_into),
        cmocka_unit_test(several_builds__name_and_where_a_build_has_several_file),
        cmocka_unit_test(one_build__recorded_with_and_without_addresses__one_function),
        cmocka_unit_test(no_names__bounds_or_the_whole_image),
        cmocka_unit_test(stacks__a_function_that_calls__has_the_number_of_its_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
