/* SPDX-License-Identifier: MIT */
/*
 * Separate debug files: found where they may be, believed only when build-id or CRC
 * fit. The sample is the argument; what it is taken apart into stands in a root of the
 * test's own.
 */
#include "fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID_FOLDER "usr/lib/debug/.build-id/00"
#define ID_FILE ID_FOLDER "/112233445566778899aabbccddeeff00112233.debug"

static const char *sample;
static uint64_t static_offset; /* of a function that only .symtab has */

/* A root with the stripped program in /opt/app, and its debug file beside the root. */
static int
make_root(void **state)
{
    if (fixture_make_folder(state) != 0) {
        return -1;
    }
    static_offset = fixture_offset_of(sample, "sample_static");
    fixture_make_path("root/opt/app");
    fixture_make_path("root/" ID_FOLDER);
    return fixture_run("objcopy --only-keep-debug '%s' '%s' && strip -o '%s' '%s'",
                       sample, fixture_path("app.debug"),
                       fixture_path("root/opt/app/app"), sample);
}

/* The program with neither build-id nor symbols, with a debuglink. */
static void
link_without_build_id(void)
{
    assert_int_equal(
        fixture_run(
            "cd '%s' && objcopy --remove-section=.note.gnu.build-id app.debug && "
            "objcopy --remove-section=.note.gnu.build-id "
            "--add-gnu-debuglink=app.debug root/opt/app/app",
            fixture_path(".")),
        0);
}

static void
move_debug_file(const char *to)
{
    assert_int_equal(
        fixture_run("mv '%s' '%s'", fixture_path("app.debug"), fixture_path("%s", to)),
        0);
}

static struct sym_reader *
open_app(void)
{
    return fixture_open("/opt/app/app", fixture_path("root"));
}

static void
assert_named_with_line(struct sym_reader *image)
{
    struct sym_name name;

    assert_true(fixture_lookup(image, static_offset, &name));
    assert_string_equal(name.name, "sample_static");
    assert_non_null(strstr(name.file, "sample.c"));
    assert_true(name.line > 0);
    assert_string_equal(sym_reader_note(image), "");
}

static void
assert_refused(const char *reason)
{
    struct sym_reader *image = open_app();
    struct sym_name name;

    assert_false(fixture_lookup(image, static_offset, &name));
    assert_null(name.name);
    assert_int_equal(name.line, 0);
    assert_non_null(strstr(sym_reader_note(image), reason));
    sym_reader_close(image);
}

static void
stripped_program__no_debug_file__dynamic_names_only(void **state)
{
    const uint64_t offset = fixture_offset_of(sample, "sample_global");
    struct sym_reader *image = open_app();

    (void)state;
    fixture_assert_name(image, static_offset, NULL);
    fixture_assert_name(image, offset, "sample_global");
    assert_true(sym_reader_has_symbols(image));
    sym_reader_close(image);
}

static void
build_id__file_under_root__used(void **state)
{
    struct sym_reader *image;

    (void)state;
    move_debug_file("root/" ID_FILE);
    image = open_app();
    assert_named_with_line(image);
    sym_reader_close(image);
}

static void
build_id__file_behind_absolute_link__found_inside_root(void **state)
{
    struct sym_reader *image;

    (void)state;
    move_debug_file("root/opt/real.debug");
    assert_int_equal(symlink("/opt/real.debug", fixture_path("root/" ID_FILE)), 0);
    image = open_app();
    assert_named_with_line(image);
    sym_reader_close(image);
}

static void
build_id__link_leads_out_of_root__not_followed(void **state)
{
    struct sym_reader *image;

    (void)state;
    assert_int_equal(symlink(fixture_path("app.debug"), fixture_path("root/" ID_FILE)),
                     0);
    image = open_app();
    fixture_assert_name(image, static_offset, NULL);
    sym_reader_close(image);
}

static void
build_id__another_one_in_the_file__refused(void **state)
{
    size_t size;
    unsigned char *bytes;
    unsigned char *id;

    (void)state;
    move_debug_file("root/" ID_FILE);
    bytes = fixture_read(fixture_path("root/" ID_FILE), &size);
    id = memmem(bytes, size, "\xcc\xdd\xee\xff\x00\x11\x22\x33", 8);
    assert_non_null(id);
    id[7] = 0x34;
    fixture_write(fixture_path("root/" ID_FILE), bytes, size);
    free(bytes);
    assert_refused("another build-id");
}

static void
build_id__file_without_one__refused(void **state)
{
    (void)state;
    move_debug_file("root/" ID_FILE);
    assert_int_equal(fixture_run("objcopy --remove-section=.note.gnu.build-id '%s'",
                                 fixture_path("root/" ID_FILE)),
                     0);
    assert_refused("no build-id");
}

static void
build_id__no_elf_in_its_place__refused(void **state)
{
    (void)state;
    fixture_write(fixture_path("root/" ID_FILE), "text", 4);
    assert_refused("no readable ELF");
}

static void
build_id__pipe_in_its_place__does_not_block(void **state)
{
    struct sym_reader *image;

    (void)state;
    assert_int_equal(mkfifo(fixture_path("root/" ID_FILE), 0600), 0);
    image = open_app();
    fixture_assert_name(image, static_offset, NULL);
    sym_reader_close(image);
}

static void
debuglink__each_of_three_folders__used(void **state)
{
    static const char *const folders[] = {"root/opt/app", "root/opt/app/.debug",
                                          "root/usr/lib/debug/opt/app"};

    (void)state;
    link_without_build_id();
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        struct sym_reader *image = open_app();

        assert_string_equal(sym_reader_build_id(image), "");
        fixture_assert_name(image, static_offset, NULL);
        sym_reader_close(image);

        fixture_make_path(folders[i]);
        assert_int_equal(fixture_run("cp '%s' '%s'", fixture_path("app.debug"),
                                     fixture_path("%s/app.debug", folders[i])),
                         0);
        image = open_app();
        assert_named_with_line(image);
        sym_reader_close(image);
        assert_int_equal(unlink(fixture_path("%s/app.debug", folders[i])), 0);
    }
}

static void
debuglink__another_crc__refused(void **state)
{
    (void)state;
    link_without_build_id();
    move_debug_file("root/opt/app/app.debug");
    assert_int_equal(
        fixture_run("printf x >>'%s'", fixture_path("root/opt/app/app.debug")), 0);
    assert_refused("CRC");
}

/* The link is made to a file whose build-id is another one: only the CRC fits. */
static void
debuglink__crc_fits_but_build_id_differs__refused(void **state)
{
    size_t size;
    unsigned char *bytes;
    unsigned char *id;

    (void)state;
    bytes = fixture_read(fixture_path("app.debug"), &size);
    id = memmem(bytes, size, "\xcc\xdd\xee\xff\x00\x11\x22\x33", 8);
    assert_non_null(id);
    id[7] = 0x34;
    fixture_write(fixture_path("app.debug"), bytes, size);
    free(bytes);
    assert_int_equal(fixture_run("cd '%s' && objcopy --add-gnu-debuglink=app.debug "
                                 "root/opt/app/app",
                                 fixture_path(".")),
                     0);
    move_debug_file("root/opt/app/app.debug");
    assert_refused("another build-id");
}

static void
debuglink__name_with_a_slash__not_followed(void **state)
{
    size_t size;
    unsigned char *bytes;
    unsigned char *name;
    struct sym_reader *image;

    (void)state;
    link_without_build_id();
    move_debug_file("root/opt/a.debug");
    bytes = fixture_read(fixture_path("root/opt/app/app"), &size);
    name = memmem(bytes, size, "app.debug", 10);
    assert_non_null(name);
    memcpy(name, "../a.debug", sizeof("../a.debug")); /* its NUL in the padding */
    fixture_write(fixture_path("root/opt/app/app"), bytes, size);
    free(bytes);
    image = open_app();
    fixture_assert_name(image, static_offset, NULL);
    sym_reader_close(image);
}

static void
debuglink__to_the_program_itself__not_used(void **state)
{
    struct sym_reader *image;

    (void)state;
    assert_int_equal(fixture_run("cd '%s' && cp app.debug app && "
                                 "objcopy --remove-section=.note.gnu.build-id "
                                 "--add-gnu-debuglink=app root/opt/app/app",
                                 fixture_path(".")),
                     0);
    image = open_app();
    fixture_assert_name(image, static_offset, NULL);
    assert_string_equal(sym_reader_note(image), "");
    sym_reader_close(image);
}

static void
mini_debuginfo__xz_in_a_section__names_static_functions(void **state)
{
    struct sym_reader *image;

    (void)state;
    if (!fixture_has("xz")) {
        skip();
    }
    assert_int_equal(
        fixture_run("cd '%s' && objcopy --strip-debug app.debug mini && xz -k mini && "
                    "objcopy --add-section .gnu_debugdata=mini.xz root/opt/app/app",
                    fixture_path(".")),
        0);
    image = open_app();
    fixture_assert_name(image, static_offset, "sample_static");
    sym_reader_close(image);
}

static void
mini_debuginfo__bomb_or_damaged__dynamic_names_only(void **state)
{
    const uint64_t offset = fixture_offset_of(sample, "sample_global");
    static const char *const makers[] = {
        "head -c 270000000 /dev/zero | xz -1 >mini.xz",
        "objcopy --strip-debug app.debug mini && xz -c mini | head -c 300 >mini.xz",
        "printf 'no xz at all' >mini.xz",
        "printf 'no ELF' | xz >mini.xz",
    };

    (void)state;
    if (!fixture_has("xz")) {
        skip();
    }
    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
        struct sym_reader *image;

        assert_int_equal(
            fixture_run("cd '%s' && { %s; } && objcopy --remove-section .gnu_debugdata "
                        "--add-section .gnu_debugdata=mini.xz root/opt/app/app",
                        fixture_path("."), makers[i]),
            0);
        image = open_app();
        fixture_assert_name(image, static_offset, NULL);
        fixture_assert_name(image, offset, "sample_global");
        sym_reader_close(image);
    }
}

#define IN_ROOT(test) \
    cmocka_unit_test_setup_teardown(test, make_root, fixture_remove_folder)

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(stripped_program__no_debug_file__dynamic_names_only),
        IN_ROOT(build_id__file_under_root__used),
        IN_ROOT(build_id__file_behind_absolute_link__found_inside_root),
        IN_ROOT(build_id__link_leads_out_of_root__not_followed),
        IN_ROOT(build_id__another_one_in_the_file__refused),
        IN_ROOT(build_id__file_without_one__refused),
        IN_ROOT(build_id__no_elf_in_its_place__refused),
        IN_ROOT(build_id__pipe_in_its_place__does_not_block),
        IN_ROOT(debuglink__each_of_three_folders__used),
        IN_ROOT(debuglink__another_crc__refused),
        IN_ROOT(debuglink__crc_fits_but_build_id_differs__refused),
        IN_ROOT(debuglink__name_with_a_slash__not_followed),
        IN_ROOT(debuglink__to_the_program_itself__not_used),
        IN_ROOT(mini_debuginfo__xz_in_a_section__names_static_functions),
        IN_ROOT(mini_debuginfo__bomb_or_damaged__dynamic_names_only),
    };

    if (argc != 2) {
        return 2;
    }
    sample = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
