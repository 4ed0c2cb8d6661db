/* SPDX-License-Identifier: MIT */
/* symbol_list.c - functions as the linker listed them, of the samples in argv. */
#include "fixture.h"

#include "symbols/border/table.h"
#include "symbols/client/symbol_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char **samples;
static int sample_count;

static int
read_list(const char *path, uint64_t bytes, struct sym_symbol_list *list)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const int error = sym_reader_symbol_list(fd, bytes, list);

    assert_true(fd >= 0);
    close(fd);
    return error;
}

static const struct sym_symbol *
find(const struct sym_symbol_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

static void
functions__of_a_program__with_file_and_size(void **state)
{
    (void)state;
    for (int i = 0; i < sample_count; i++) {
        struct sym_symbol_list list;
        const struct sym_symbol *global;
        const struct sym_symbol *local;

        assert_int_equal(read_list(samples[i], 0, &list), 0);
        global = find(&list, "sample_global");
        local = find(&list, "sample_static");
        assert_true(global != NULL && !global->local && global->size > 0);
        assert_string_equal(global->file, "");
        assert_true(local != NULL && local->local && local->size > 0);
        assert_string_equal(local->file, "sample.c");
        assert_null(find(&list, "sample_data"));
        assert_null(find(&list, "puts"));
        assert_false(list.relocations);
        for (size_t at = 1; at < list.count; at++) {
            assert_true(list.items[at].start >= list.items[at - 1].start);
            assert_true(list.items[at].start > list.items[at - 1].start ||
                        list.items[at].local >= list.items[at - 1].local);
        }
        sym_symbol_list_finish(&list);
    }
}

static void
list__stripped_or_no_elf_or_too_large__said(void **state)
{
    struct sym_symbol_list list;

    (void)state;
    assert_int_equal(read_list(samples[0], 256, &list), -EFBIG);
    sym_symbol_list_finish(&list);
    assert_int_equal(
        fixture_run("strip -o '%s' '%s'", fixture_path("bare"), samples[0]), 0);
    assert_int_equal(read_list(fixture_path("bare"), 0, &list), 0);
    assert_int_equal(list.count, 0);
    sym_symbol_list_finish(&list);
    fixture_write(fixture_path("text"), "no elf", 6);
    assert_int_equal(read_list(fixture_path("text"), 0, &list), -ENOEXEC);
    sym_symbol_list_finish(&list);
}

static void
relocations__left_in__found(void **state)
{
    struct sym_symbol_list list;

    (void)state;
    assert_int_equal(fixture_run("echo 'int main(void){return 0;}' >'%s' && "
                                 "gcc -Wl,--emit-relocs '%s' -o '%s'",
                                 fixture_path("r.c"), fixture_path("r.c"),
                                 fixture_path("r")),
                     0);
    assert_int_equal(read_list(fixture_path("r"), 0, &list), 0);
    assert_true(list.relocations);
    assert_non_null(find(&list, "main"));
    sym_symbol_list_finish(&list);
}

/* Readers ignore such names everywhere, and the command takes none. */
static void
names__as_long_as_no_name_is__left_out(void **state)
{
    enum { LONGEST = SYM_NAME_BYTES_MAX - 1 };
    static char name[LONGEST + 2];
    struct sym_symbol_list list;
    FILE *text;

    (void)state;
    memset(name, 'a', LONGEST + 1);
    name[LONGEST + 1] = '\0';
    text = fopen(fixture_path("l.s"), "w");
    assert_non_null(text);
    for (size_t shorter = 0; shorter < 2; shorter++) {
        fprintf(text, ".type %s, %%function\n%s: .long 0\n", name + shorter,
                name + shorter);
    }
    assert_int_equal(fclose(text), 0);
    fixture_build("gcc -shared -nostdlib l.s -o l");
    assert_int_equal(read_list(fixture_path("l"), 0, &list), 0);
    assert_int_equal(list.count, 1);
    assert_int_equal(strlen(list.items[0].name), LONGEST);
    sym_symbol_list_finish(&list);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions__of_a_program__with_file_and_size),
        cmocka_unit_test(list__stripped_or_no_elf_or_too_large__said),
        cmocka_unit_test(relocations__left_in__found),
        cmocka_unit_test(names__as_long_as_no_name_is__left_out),
    };

    samples = argv + 1;
    sample_count = argc - 1;
    if (sample_count < 3) {
        return 2;
    }
    return cmocka_run_group_tests(tests, fixture_make_folder, fixture_remove_folder);
}
