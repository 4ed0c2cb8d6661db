/* SPDX-License-Identifier: MIT */
/* What SYMBOL, FILE:LINE and IMAGE+OFFSET find in a profile. */
#include "fixture.h"

#include "view/listing/print.h"

#include <stdio.h>

/* Two libraries with a function of one name, a method, and a function that is inlined.
 */
static struct profile *
make(void)
{
    struct profile *profile = fixture_profile(4);
    const uint32_t one = fixture_image(profile, "/lib/libone.so.1", "aa");
    const uint32_t two = fixture_image(profile, "/opt/app/libtwo.so", "bb");
    const uint32_t copy = fixture_function(profile, "copy", "/src/copy.c", 5);
    const uint32_t inner = fixture_function(profile, "inner", "/src/copy.c", 1);
    const uint32_t method = fixture_function(
        profile, "std::vector<int, std::allocator<int> >::push_back(int&&)",
        "/usr/include/vector.h", 100);
    const uint32_t frame = fixture_frame(profile, copy, 8, 0);

    fixture_hits(profile, one, 0x401000, copy, 7, 0, 100);
    fixture_hits(profile, one, 0x401010, inner, 2, frame, 30);
    fixture_hits(profile, two, 0x401000, copy, 7, 0, 500);
    fixture_hits(profile, two, 0x401100, method, 101, 0, 40);
    fixture_hits(profile, two, 0x401200, 0, 0, 0, 10);
    return profile;
}

static struct listing_targets
find(const struct profile *profile, const char *text, const char *image)
{
    struct listing_targets targets;

    assert_true(listing_find_targets(profile, text, image, &targets));
    return targets;
}

static void
symbol__in_two_images__both_most_hits_first(void **state)
{
    struct profile *profile = make();
    struct listing_targets targets = find(profile, "copy", NULL);

    (void)state;
    assert_int_equal(targets.count, 2);
    assert_string_equal(profile->images[targets.items[0].image].path,
                        "/opt/app/libtwo.so");
    assert_int_equal(targets.hits[targets.items[0].hits_at], 500);
    /* What is inlined into it is counted: 100 and 30. */
    assert_int_equal(targets.hits[targets.items[1].hits_at], 130);
    assert_int_equal(targets.hits[targets.items[1].hits_at + 1], 13);
    listing_targets_finish(&targets);
    profile_delete(profile);
}

static void
symbol__image_given__only_there(void **state)
{
    static const char *const globs[] = {"libone*", "/lib/libone.so.1", "libone.so.1",
                                        "*one*"};
    struct profile *profile = make();

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct listing_targets targets = find(profile, "copy", globs[i]);

        assert_int_equal(targets.count, 1);
        assert_string_equal(profile->images[targets.items[0].image].path,
                            "/lib/libone.so.1");
        listing_targets_finish(&targets);
    }
    profile_delete(profile);
}

static void
symbol__no_such_image__told_apart_from_no_such_symbol(void **state)
{
    struct profile *profile = make();
    struct listing_targets targets = find(profile, "copy", "libthree*");

    (void)state;
    assert_int_equal(targets.count, 0);
    assert_true(targets.no_such_image);
    listing_targets_finish(&targets);
    targets = find(profile, "paste", NULL);
    assert_int_equal(targets.count, 0);
    assert_false(targets.no_such_image);
    listing_targets_finish(&targets);
    profile_delete(profile);
}

static void
symbol__last_part_or_glob__found(void **state)
{
    static const char *const texts[] = {
        "push_back", "vector<int, std::allocator<int> >::push_back", "*::push_*",
        "std::vector<int, std::allocator<int> >::push_back(int&&)"};
    struct profile *profile = make();

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const struct listing_target target = fixture_target(profile, texts[i]);

        assert_int_equal(target.kind, LISTING_OF_FUNCTION);
        assert_non_null(strstr(target.name, "::push_back(int&&)"));
    }
    profile_delete(profile);
}

static void
symbol__last_part_of_a_go_name__found(void **state)
{
    struct profile *profile = fixture_profile(0);

    (void)state;
    fixture_hits(profile, fixture_image(profile, "/bin/app", ""), 0x401000,
                 fixture_function(profile, "main.burn", "", 0), 0, 0, 5);
    assert_string_equal(fixture_target(profile, "burn").name, "main.burn");
    profile_delete(profile);
}

/* As compilers tell them, and what a user would call them. */
static void
symbol__templates_and_their_like__found_by_bare_name(void **state)
{
    static const char *const names[][2] = {
        {"unsigned long mixit<unsigned long>(unsigned long, unsigned long)", "mixit"},
        {"std::enable_if<true, int>::type work::pick<(Kind)2>(int) const",
         "work::pick"},
        {"void (anonymous namespace)::sort<int>(int*)", "sort"},
        {"main::{lambda(int)#1}::operator()(int) const", "operator()"},
        {"bool operator< <char>(Text<char> const&)", "operator<"},
        {"core::intrinsics::rotate_left::<u64>", "rotate_left"},
        {"<m::W<u64> as m::Step>::step", "step"},
        {"main.Map[go.shape.int_0]", "Map"},
        {"main.(*T).Add", "(*T).Add"},
        {"work::loop(unsigned long) [clone .isra.0]", "loop"},
        {"rangeiter_next.lto_priv.0", "rangeiter_next"},
        {"copy.isra.0.cold", "copy"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct profile *profile = fixture_profile(0);

        fixture_hits(profile, fixture_image(profile, "/bin/app", ""), 0x401000,
                     fixture_function(profile, names[i][0], "", 0), 0, 0, 5);
        assert_string_equal(fixture_target(profile, names[i][1]).name, names[i][0]);
        profile_delete(profile);
    }
}

/* Types of results and arguments, and half a name, are no names; nor do brackets
 * without an end matter. */
static void
symbol__what_stands_around_a_name__not_found(void **state)
{
    static const char *const names[][2] = {
        {"unsigned long mixit<unsigned long>(unsigned long, unsigned long)", "long"},
        {"std::vector<int> make<int>(std::pair<int, int>)", "vector"},
        {"std::vector<int> make<int>(std::pair<int, int>)", "pair"},
        {"work::Set::has(int) const", "const"},
        {"work::Set::has(int) const", "Set"},
        {"main.party", "main"},
        {"a.(((<<<[[[.b", "b"},
        {"a::<a::<a::<", "a"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct profile *profile = fixture_profile(0);
        struct listing_targets targets;

        fixture_hits(profile, fixture_image(profile, "/bin/app", ""), 0x401000,
                     fixture_function(profile, names[i][0], "", 0), 0, 0, 5);
        targets = find(profile, names[i][1], NULL);
        assert_int_equal(targets.count, 0);
        listing_targets_finish(&targets);
        profile_delete(profile);
    }
}

static void
symbol__part_of_a_word__not_found(void **state)
{
    struct profile *profile = make();
    struct listing_targets targets = find(profile, "back", NULL);

    (void)state;
    assert_int_equal(targets.count, 0);
    listing_targets_finish(&targets);
    profile_delete(profile);
}

static void
inlined_symbol__never_outermost__found(void **state)
{
    struct profile *profile = make();
    struct listing_targets targets = find(profile, "inner", NULL);

    (void)state;
    assert_int_equal(targets.count, 1);
    assert_int_equal(targets.hits[targets.items[0].hits_at], 30);
    listing_targets_finish(&targets);
    profile_delete(profile);
}

static void
line__by_last_parts_of_path__hits_of_all_images(void **state)
{
    struct profile *profile = make();
    struct listing_targets targets = find(profile, "copy.c:7", NULL);

    (void)state;
    assert_int_equal(targets.count, 1);
    assert_int_equal(targets.items[0].kind, LISTING_OF_LINE);
    assert_int_equal(targets.items[0].image, LISTING_NONE);
    assert_string_equal(targets.items[0].file, "/src/copy.c");
    assert_int_equal(targets.hits[0], 600);
    listing_targets_finish(&targets);
    targets = find(profile, "src/copy.c:7", "libone*");
    assert_int_equal(targets.count, 1);
    assert_int_equal(targets.hits[0], 100);
    listing_targets_finish(&targets);
    targets = find(profile, "opy.c:7", NULL);
    assert_int_equal(targets.count, 0);
    listing_targets_finish(&targets);
    profile_delete(profile);
}

static void
line__of_a_call__hits_of_what_was_inlined(void **state)
{
    struct profile *profile = make();
    struct listing_targets targets = find(profile, "copy.c:8", NULL);

    (void)state;
    assert_int_equal(targets.count, 1);
    assert_int_equal(targets.hits[0], 30);
    listing_targets_finish(&targets);
    profile_delete(profile);
}

static void
line__without_hits__found_with_none(void **state)
{
    struct profile *profile = make();
    struct listing_targets targets = find(profile, "copy.c:9999", NULL);

    (void)state;
    assert_int_equal(targets.count, 1);
    assert_int_equal(targets.hits[0], 0);
    listing_targets_finish(&targets);
    profile_delete(profile);
}

static void
offset__in_the_file_as_reports_tell__address(void **state)
{
    static const char *const texts[] = {"libtwo.so+0x1200", "/opt/app/libtwo.so+4608",
                                        "libtwo.so+004608", "libtwo.so+0x401200"};
    struct profile *profile = make();

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct listing_targets targets = find(profile, texts[i], NULL);

        assert_int_equal(targets.count, 1);
        assert_int_equal(targets.items[0].kind, LISTING_OF_ADDRESS);
        assert_int_equal(targets.items[0].address, 0x401200);
        assert_int_equal(targets.hits[0], 10);
        listing_targets_finish(&targets);
    }
    profile_delete(profile);
}

static void
number__too_large_or_cut__is_no_place(void **state)
{
    static const char *const texts[] = {"copy.c:",
                                        "copy.c:0",
                                        "copy.c:99999999999999999999",
                                        "copy.c:7x",
                                        "libtwo.so+",
                                        "libtwo.so+0x",
                                        "libtwo.so+12z",
                                        "libtwo.so+18446744073709551616",
                                        ":7",
                                        "+7",
                                        ""};
    struct profile *profile = make();

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct listing_targets targets = find(profile, texts[i], NULL);

        assert_int_equal(targets.count, 0);
        listing_targets_finish(&targets);
    }
    profile_delete(profile);
}

static void
row__outer_or_inlined__function(void **state)
{
    struct profile *profile = make();
    struct identities identities;
    struct listing_target target;

    (void)state;
    assert_true(identities_find(profile, &identities));
    target = listing_target_of_row(profile, &identities, &profile->rows[1], false);
    assert_int_equal(target.kind, LISTING_OF_FUNCTION);
    assert_string_equal(target.name, "copy");
    assert_int_equal(target.id, identities.outer[1]);
    target = listing_target_of_row(profile, &identities, &profile->rows[1], true);
    assert_string_equal(target.name, "inner");
    assert_true(target.inlined);
    assert_int_equal(target.id, identities.inner[1]);
    assert_int_equal(target.within, identities.outer[1]);
    target = listing_target_of_row(profile, &identities, &profile->rows[0], true);
    assert_string_equal(target.name, "copy"); /* nothing was inlined there */
    assert_false(target.inlined);
    target = listing_target_of_row(profile, &identities, &profile->rows[4], false);
    assert_int_equal(target.kind, LISTING_OF_FUNCTION);
    assert_string_equal(target.name, "");
    identities_finish(&identities);
    profile_delete(profile);
}

static void
hottest__code_without_a_name_has_most__is_first(void **state)
{
    struct profile *profile = make();
    struct listing_targets targets;

    (void)state;
    assert_true(listing_find_hottest(profile, NULL, &targets));
    assert_string_equal(targets.items[0].name, "copy");
    assert_int_equal(targets.hits[targets.items[0].hits_at], 500);
    listing_targets_finish(&targets);
    /* All of an image together, as in the report. */
    fixture_hits(profile, 1, 0x401204, 0, 0, 0, 491);
    assert_true(listing_find_hottest(profile, NULL, &targets));
    assert_string_equal(targets.items[0].name, "");
    assert_int_equal(targets.hits[targets.items[0].hits_at], 501);
    listing_targets_finish(&targets);
    assert_true(listing_find_hottest(profile, "libone*", &targets));
    assert_string_equal(targets.items[0].name, "copy");
    assert_int_equal(targets.hits[targets.items[0].hits_at], 130);
    listing_targets_finish(&targets);
    profile_delete(profile);
}

/* Two static functions of one name; step is inlined into both and into another step. */
static struct profile *
make_alike(void)
{
    struct profile *profile = fixture_profile(4);
    const uint32_t image = fixture_image(profile, "/bin/app", "cc");
    const uint32_t first = fixture_placed(profile, "work", "/src/a.c", 0x401000);
    const uint32_t second = fixture_placed(profile, "work", "/src/b.c", 0x401100);
    const uint32_t step = fixture_placed(profile, "step", "/src/b.c", 0x401200);
    const uint32_t inlined = fixture_function(profile, "step", "/src/b.c", 9);
    const uint32_t deep = fixture_function(profile, "deep", "/src/b.c", 1);
    const uint32_t in_second = fixture_frame(profile, second, 20, 0);

    fixture_hits(profile, image, 0x401000, first, 10, 0, 1000);
    fixture_hits(profile, image, 0x401100, second, 11, 0, 200);
    fixture_hits(profile, image, 0x401104, inlined, 10, in_second, 30);
    fixture_hits(profile, image, 0x401108, deep, 2,
                 fixture_frame(profile, inlined, 12, in_second), 4);
    fixture_hits(profile, image, 0x401200, step, 10, 0, 500);
    fixture_hits(profile, image, 0x401300, fixture_placed(profile, "", "", 0x401300), 0,
                 0, 60);
    fixture_hits(profile, image, 0x401304, fixture_placed(profile, "", "", 0x401300), 0,
                 0, 6);
    fixture_hits(profile, image, 0x401400, 0, 0, 0, 7);
    fixture_hits(profile, image, 0x401500, 0, 0, 0, 8);
    return profile;
}

static void
assert_found(const struct profile *profile, const char *text, uint64_t hits)
{
    struct listing_targets targets = find(profile, text, NULL);

    if (targets.count != 1 || targets.hits[targets.items[0].hits_at] != hits) {
        fail_msg("%s: %zu targets, %lu hits", text, targets.count,
                 targets.count > 0
                     ? (unsigned long)targets.hits[targets.items[0].hits_at]
                     : 0);
    }
    listing_targets_finish(&targets);
}

static void
symbol__functions_of_one_name__told_apart_as_in_tables(void **state)
{
    struct profile *profile = make_alike();
    struct listing_targets targets = find(profile, "work", NULL);
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);

    (void)state;
    assert_int_equal(targets.count, 2);
    assert_non_null(out);
    assert_true(listing_print_targets(out, profile, &targets));
    fclose(out);
    assert_string_equal(text, "        1000  work (a.c:9)  /bin/app\n"
                              "         234  work (b.c:9)  /bin/app\n");
    free(text);
    listing_targets_finish(&targets);
    assert_found(profile, "work (a.c:9)", 1000);
    assert_found(profile, "work (b.c:9)", 234);
    assert_found(profile, "work (b.c:9, 0x401100)", 234);
    profile_delete(profile);
}

static void
symbol__outer_and_inlined__outer_unless_it_says_inlined(void **state)
{
    struct profile *profile = make_alike();

    (void)state;
    assert_found(profile, "step", 500);
    assert_found(profile, "step inlined in work (b.c:9)", 30);
    assert_found(profile, "step inlined in *", 30);
    assert_found(profile, "deep", 4);
    assert_found(profile, "deep inlined in work", 4);
    profile_delete(profile);
}

static void
symbol__code_without_a_name__as_tables_show_it(void **state)
{
    struct profile *profile = make_alike();

    (void)state;
    assert_found(profile, "app!0x401300", 66);
    assert_found(profile, "[no symbols] in app", 15);
    profile_delete(profile);
}

/* Never innermost: the hits are of what was inlined into it. */
static void
symbol__only_around_inlined_code__hits_of_that(void **state)
{
    struct profile *profile = fixture_profile(4);
    const uint32_t image = fixture_image(profile, "/bin/app", "cc");
    const uint32_t outer = fixture_function(profile, "outer", "/src/a.c", 9);
    const uint32_t middle = fixture_function(profile, "middle", "/src/a.c", 5);
    const uint32_t inner = fixture_function(profile, "inner", "/src/a.c", 1);

    (void)state;
    fixture_hits(
        profile, image, 0x401000, inner, 2,
        fixture_frame(profile, middle, 6, fixture_frame(profile, outer, 10, 0)), 40);
    assert_found(profile, "middle", 40);
    profile_delete(profile);
}

static void
symbol__only_around_inlined_code__told_apart_as_in_tables(void **state)
{
    struct profile *profile = fixture_profile(4);
    const uint32_t images[] = {fixture_image(profile, "/bin/app", "cc"),
                               fixture_image(profile, "/bin/app", "dd")};
    const uint32_t outer = fixture_function(profile, "outer", "/src/m.c", 9);
    const uint32_t inner = fixture_function(profile, "inner", "/src/l.c", 1);
    struct listing_targets targets;
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t middle =
            fixture_function(profile, "middle", i == 1 ? "/src/b.c" : "/src/a.c", 5);

        fixture_hits(
            profile, images[i / 2], 0x401000 + 16 * i, inner, 2,
            fixture_frame(profile, middle, 6, fixture_frame(profile, outer, 10, 0)),
            40 - i);
    }
    targets = find(profile, "middle", NULL);
    assert_int_equal(targets.count, 3);
    assert_non_null(out);
    assert_true(listing_print_targets(out, profile, &targets));
    fclose(out);
    assert_string_equal(
        text, "          40  middle (a.c:5) inlined in *  /bin/app  build cc\n"
              "          39  middle (b.c:5) inlined in *  /bin/app  build cc\n"
              "          38  middle (a.c:5) inlined in *  /bin/app  build dd\n");
    free(text);
    listing_targets_finish(&targets);
    assert_found(profile, "middle (b.c:5) inlined in *", 39);
    profile_delete(profile);
}

static void
symbol__shortened_as_in_tables__found(void **state)
{
    static const char *const texts[] = {
        "std::vector<int, ... >::push_back", "std::vector<...>::push_back",
        "std::...::push_back(int&&)", "std::...alloc...push_back"};
    const struct profile_function method = {
        .name = "std::vector<int, std::allocator<int> >::push_back(int&&)",
        .system_name = "_ZNSt6vectorIiSaIiEE9push_backEOi",
        .file = ""};
    struct profile *profile = fixture_profile(4);
    uint32_t index;

    (void)state;
    assert_true(profile_add_function(profile, &method, &index));
    fixture_hits(profile, fixture_image(profile, "/bin/app", ""), 0x401000, index, 0, 0,
                 5);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_string_equal(fixture_target(profile, texts[i]).name, method.name);
    }
    profile_delete(profile);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbol__in_two_images__both_most_hits_first),
        cmocka_unit_test(symbol__image_given__only_there),
        cmocka_unit_test(symbol__no_such_image__told_apart_from_no_such_symbol),
        cmocka_unit_test(symbol__last_part_or_glob__found),
        cmocka_unit_test(symbol__last_part_of_a_go_name__found),
        cmocka_unit_test(symbol__templates_and_their_like__found_by_bare_name),
        cmocka_unit_test(symbol__what_stands_around_a_name__not_found),
        cmocka_unit_test(symbol__part_of_a_word__not_found),
        cmocka_unit_test(inlined_symbol__never_outermost__found),
        cmocka_unit_test(line__by_last_parts_of_path__hits_of_all_images),
        cmocka_unit_test(line__of_a_call__hits_of_what_was_inlined),
        cmocka_unit_test(line__without_hits__found_with_none),
        cmocka_unit_test(offset__in_the_file_as_reports_tell__address),
        cmocka_unit_test(number__too_large_or_cut__is_no_place),
        cmocka_unit_test(row__outer_or_inlined__function),
        cmocka_unit_test(symbol__functions_of_one_name__told_apart_as_in_tables),
        cmocka_unit_test(symbol__outer_and_inlined__outer_unless_it_says_inlined),
        cmocka_unit_test(symbol__code_without_a_name__as_tables_show_it),
        cmocka_unit_test(symbol__only_around_inlined_code__hits_of_that),
        cmocka_unit_test(symbol__only_around_inlined_code__told_apart_as_in_tables),
        cmocka_unit_test(symbol__shortened_as_in_tables__found),
        cmocka_unit_test(hottest__code_without_a_name_has_most__is_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
