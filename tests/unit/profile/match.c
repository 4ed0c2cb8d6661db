/* SPDX-License-Identifier: MIT */
#include "profile/match.h"
#include "fixture.h"

static void
match_name__globs_and_names_that_look_so__as_the_table_says(void **state)
{
    static const struct {
        const char *glob, *name;
        bool matches;
    } rows[] = {
        {"main", "main", true},
        {"main", "mainly", false},
        {"ma*", "mainly", true},
        {"m?in", "main", true},
        {"[kernel]", "[kernel]", true},
        {"operator[]", "operator[]", true},
        {"[a-m]ain", "main", true},
        {"", "", true},
        {"", "main", false},
        {"a\\\\x1b*", "a\x1b[31m", true},
        {"a\x1b[31m", "a\x1b[31m", true},
    };
    struct buffer scratch = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (match_name(rows[i].glob, rows[i].name, &scratch) != rows[i].matches) {
            print_message("row %zu\n", i);
            fail();
        }
    }
    buffer_finish(&scratch);
}

static void
match_image__path_last_part_or_build_id__as_the_table_says(void **state)
{
    static const struct {
        const char *glob, *path, *build_id;
        bool matches;
    } rows[] = {
        {"libc.so*", "/usr/lib/libc.so.6", "", true},
        {"/usr/*", "/usr/lib/libc.so.6", "", true},
        {"lib", "/usr/lib/libc.so.6", "", false},
        {"libc.so.6", "/usr/lib/", "", false},
        {"0bad", "/bin/a", "0badcafe", true},
        {"0ba", "/bin/a", "0badcafe", false},
        {"badc", "/bin/a", "0badcafe", false},
        {"0badcafe0", "/bin/a", "0badcafe", false},
        {"[unknown]", "", "", true},
        {"", "", "", true},
        {"", "/bin/a", "", false},
        {"[vdso]", "[vdso]", "", true},
        {"*", "", "", true},
    };
    struct buffer scratch = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct profile_image image = {.path = rows[i].path,
                                            .build_id = rows[i].build_id};

        if (match_image(rows[i].glob, &image, &scratch) != rows[i].matches) {
            print_message("row %zu\n", i);
            fail();
        }
    }
    buffer_finish(&scratch);
}

static void
match_source__name_or_none__its_index_or_the_count(void **state)
{
    struct profile_source sources[] = {{.name = "time"}, {.name = "odd\x1b"}};
    const struct profile profile = {.sources = sources, .source_count = 2};

    (void)state;
    assert_int_equal(match_source(&profile, "time"), 0);
    assert_int_equal(match_source(&profile, "odd\x1b"), 1);
    assert_int_equal(match_source(&profile, "odd\\x1b"), 1);
    assert_int_equal(match_source(&profile, "tim"), 2);
    assert_int_equal(match_source(&profile, "*"), 2);
}

static void
match_function__each_form_that_tables_have__matches(void **state)
{
    static const struct {
        const char *glob;
        bool matches;
    } rows[] = {
        {"app::sort<int, less<int> >", true},
        {"void app::sort<int, less<int> >(int*)", true},
        {"app::sort<int, less<int> > (a.cc:7)", true},
        {"app::sort<int, less<int> > (a.cc:7, 0x40)", true},
        {"void app::sort<int, less<int> >(int*) (a.cc:7)", true},
        {"app::sort<int...<int> >", true},
        {"app::...less<...>", true},
        {"app::*", true},
        {"_Z4sort", true},
        {"app::sort", false},
        {"app::sort<int...<int> >x", false},
        {"app::...more<...>", false},
        {"app::sort<int, less<int> > (b.cc:7)", false},
    };
    const struct profile_function function = {
        .name = "void app::sort<int, less<int> >(int*)",
        .system_name = "_Z4sort",
        .file = "/src/a.cc",
        .start_line = 7,
        .has_address = true,
        .address = 0x40,
        .definition = ""};
    struct buffer scratch = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (match_function(rows[i].glob, &function, NULL, &scratch) !=
            rows[i].matches) {
            print_message("row %zu\n", i);
            fail();
        }
    }
    buffer_finish(&scratch);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(match_name__globs_and_names_that_look_so__as_the_table_says),
        cmocka_unit_test(match_image__path_last_part_or_build_id__as_the_table_says),
        cmocka_unit_test(match_source__name_or_none__its_index_or_the_count),
        cmocka_unit_test(match_function__each_form_that_tables_have__matches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
