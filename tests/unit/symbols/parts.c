/* SPDX-License-Identifier: MIT */
/*
 * parts.c - names of symbols as they are shown: parts that a compiler split off count
 * to their functions, and only versions of symbols are cut off.
 */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

/* Functions of one name in two files, with parts; a global one with a part in b.c; and
 * names that only look like parts. */
#define FUNCTION(name) \
    ".type " name ", %function\n" name ":\n.skip 8, 0x90\n.size " name ", .-" name "\n"

static const char first[] = ".file \"a.c\"\n.text\n" FUNCTION("foo")
    FUNCTION("foo.cold") FUNCTION("bar.part.0") FUNCTION("bar.part.0.cold")
        FUNCTION("work.cold") FUNCTION("_ZN1a3runEi") FUNCTION("_ZN1a3runEi.cold.3")
            FUNCTION("only.part.2") FUNCTION("only.part.2.cold") FUNCTION("gone.cold")
                FUNCTION("odd.cold.name") FUNCTION(".cold") FUNCTION("bar")
                    FUNCTION("bar.constprop.0") FUNCTION("bar.constprop.0.cold")
                        FUNCTION("mid.part.1a");
static const char second[] = ".file \"b.c\"\n.text\n.globl work\n" FUNCTION("work")
    FUNCTION("foo") FUNCTION("work.part.0") FUNCTION("foo.cold") FUNCTION("only")
        FUNCTION("big.__part.7") FUNCTION("big") FUNCTION("foo.cold.1");

/* row - a symbol of nm's list, by its number among those of its name. */
struct row {
    const char *symbol;
    const char *shown;
    const char *of; /* the symbol where it begins */
    int number;
    int of_number;
};

static const struct row rows[] = {
    {"foo", "foo", "foo", 0, 0},
    {"foo.cold", "foo", "foo", 0, 0},
    {"foo", "foo", "foo", 1, 1},
    {"foo.cold", "foo", "foo", 1, 1},
    {"foo.cold.1", "foo", "foo", 0, 1},
    {"bar.part.0", "bar", "bar", 0, 0},
    {"bar.part.0.cold", "bar", "bar", 0, 0},
    {"bar.constprop.0", "bar.constprop.0", "bar.constprop.0", 0, 0},
    {"bar.constprop.0.cold", "bar.constprop.0", "bar.constprop.0", 0, 0},
    {"work.cold", "work", "work", 0, 0},
    {"work.part.0", "work", "work", 0, 0},
    {"_ZN1a3runEi.cold.3", "a::run(int)", "_ZN1a3runEi", 0, 0},
    {"big.__part.7", "big", "big", 0, 0},
    /* The one in the other file is another one. */
    {"only.part.2", "only", "only.part.2", 0, 0},
    {"only.part.2.cold", "only", "only.part.2", 0, 0},
    {"gone.cold", "gone", "gone.cold", 0, 0},
    {"odd.cold.name", "odd.cold.name", "odd.cold.name", 0, 0},
    {".cold", ".cold", ".cold", 0, 0},
    {"mid.part.1a", "mid.part.1a", "mid.part.1a", 0, 0},
};

static uint64_t
address_of(const char *symbol, int number)
{
    char command[512];
    unsigned long long at = 0;
    FILE *output;

    snprintf(command, sizeof(command),
             "nm -n '%s' | grep -F ' %s' | awk '$3 == \"%s\"' | sed -n %dp",
             fixture_path("full"), symbol, symbol, number + 1);
    output = popen(command, "re");
    assert_non_null(output);
    if (fscanf(output, "%llx", &at) != 1) {
        fail_msg("there is no %s", symbol);
    }
    pclose(output);
    return at;
}

static void
assert_rows(const char *file)
{
    struct sym_reader *const image = fixture_open(fixture_path("%s", file), "");

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *const row = &rows[i];
        struct sym_name found;

        assert_true(sym_reader_lookup_address(
            image, address_of(row->symbol, row->number) + 3, &found));
        assert_string_equal(found.name, row->shown);
        assert_true(found.has_start);
        if (found.start != address_of(row->of, row->of_number)) {
            fail_msg("%s begins at %#llx", row->symbol,
                     (unsigned long long)found.start);
        }
    }
    sym_reader_close(image);
}

static void
parts__of_functions_in_two_files__count_to_them(void **state)
{
    (void)state;
    fixture_write(fixture_path("a.s"), first, strlen(first));
    fixture_write(fixture_path("b.s"), second, strlen(second));
    fixture_build("gcc -shared -nostdlib a.s b.s -o full && cp full app");
    assert_rows("app");
    fixture_build("mkdir -p .debug && objcopy --only-keep-debug full .debug/app.debug "
                  "&& strip -o app full && "
                  "objcopy --add-gnu-debuglink=.debug/app.debug app");
    assert_rows("app");
}

/* In Go the package stands before the dot. */
static void
parts__in_a_program_in_go__are_functions(void **state)
{
    static const char text[] = ".text\n.globl main\n" FUNCTION("main")
        FUNCTION("main.cold") ".section .gopclntab,\"a\"\n.quad 0\n";
    struct sym_name found;
    struct sym_reader *image;

    (void)state;
    fixture_write(fixture_path("go.s"), text, strlen(text));
    fixture_build("gcc -shared -nostdlib go.s -o full");
    image = fixture_open(fixture_path("full"), "");
    assert_true(sym_reader_lookup_address(image, address_of("main.cold", 0), &found));
    assert_string_equal(found.name, "main.cold");
    sym_reader_close(image);
}

static void
versions__of_the_file_itself__are_cut_and_nothing_else(void **state)
{
    static const char text[] = ".text\n.globl old_work, new_work\n" FUNCTION("old_work")
        FUNCTION("new_work") ".symver old_work, work@LIB_1.0\n.symver new_work, "
                             "work@@LIB_2.0\n" FUNCTION("\"*Foo@Bar#baz<Int32>:Nil\"")
                                 FUNCTION("\"a@b\"") FUNCTION("\"a@LIB_3.0x\"");
    static const char map[] = "LIB_1.0 { global: work; };\nLIB_2.0 { };\n";
    static const char *const whole[] = {"*Foo@Bar#baz<Int32>:Nil", "a@b", "a@LIB_3.0x"};
    struct sym_reader *image;
    struct sym_name found;

    (void)state;
    fixture_write(fixture_path("v.s"), text, strlen(text));
    fixture_write(fixture_path("v.map"), map, strlen(map));
    fixture_build("gcc -shared -nostdlib v.s -Wl,--version-script=v.map -o full");
    image = fixture_open(fixture_path("full"), "");
    assert_true(
        sym_reader_lookup_address(image, address_of("work@@LIB_2.0", 0), &found));
    assert_string_equal(found.name, "work");
    assert_string_equal(found.system_name, "work@@LIB_2.0");
    assert_true(
        sym_reader_lookup_address(image, address_of("work@LIB_1.0", 0), &found));
    assert_string_equal(found.name, "work");
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        assert_true(sym_reader_lookup_address(image, address_of(whole[i], 0), &found));
        assert_string_equal(found.name, whole[i]);
    }
    sym_reader_close(image);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts__of_functions_in_two_files__count_to_them),
        cmocka_unit_test(parts__in_a_program_in_go__are_functions),
        cmocka_unit_test(versions__of_the_file_itself__are_cut_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, fixture_make_folder, fixture_remove_folder);
}
