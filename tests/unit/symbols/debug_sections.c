/* SPDX-License-Identifier: MIT */
/* debug_sections.c - images of debug sections: mapped as their file has them, or
 * unpacked. */
#include "fixture.h"

#include "symbols/reader/dwarf_image.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PLAIN, PACKED, FILES };

static void
build_both(void)
{
    static const char source[] = "int main(void) { return 0; }\n";

    fixture_write(fixture_path("source.c"), source, sizeof(source) - 1);
    fixture_build("cc -g -gz=none -o plain source.c && "
                  "objcopy --compress-debug-sections=zlib plain packed");
}

/* Make the image of a file, which is closed before the caller has it. Returns false if
 * that failed. */
static bool
make_image(struct sym_dwarf_image *image, const char *name, struct sym_budget *budget)
{
    const int fd = open(fixture_path("%s", name), O_RDONLY | O_CLOEXEC);
    struct sym_elf file;
    char why[256];
    bool made;

    assert_true(fd >= 0);
    assert_int_equal(sym_elf_open(&file, fd), 0);
    made = sym_dwarf_image_copy(image, &file, false, NULL, budget, why, sizeof(why));
    sym_elf_close(&file);
    close(fd);
    return made;
}

/* Packed or not, the sections and what they cost are the same. */
static void
sections__not_packed__mapped_and_those_of_a_packed_file(void **state)
{
    static const char *const names[FILES] = {[PLAIN] = "plain", [PACKED] = "packed"};
    struct sym_dwarf_image images[FILES];
    struct sym_budget budgets[FILES];

    (void)state;
    build_both();
    for (int i = 0; i < FILES; i++) {
        sym_budget_begin(&budgets[i], 1 << 20);
        assert_true(make_image(&images[i], names[i], &budgets[i]));
        assert_int_equal(images[i].mapped_bytes > 0, i == PLAIN);
        assert_true(sym_dwarf_image_open(&images[i]));
    }
    assert_true(budgets[PLAIN].left < budgets[PLAIN].bytes);
    assert_int_equal(budgets[PLAIN].left, budgets[PACKED].left);
    for (int id = 0; id < SYM_DWARF_SECTIONS; id++) {
        const struct sym_dwarf_part *const plain = &images[PLAIN].parts[id];

        assert_int_equal(plain->size, images[PACKED].parts[id].size);
        assert_true(plain->size == 0 ||
                    memcmp(plain->bytes, images[PACKED].parts[id].bytes,
                           (size_t)plain->size) == 0);
    }
    for (int i = 0; i < FILES; i++) {
        sym_dwarf_image_finish(&images[i]);
        assert_int_equal(budgets[i].left, budgets[i].bytes);
    }
}

/* What is mapped is limited as what is unpacked. */
static void
sections__not_packed_but_beyond_the_budget__refused(void **state)
{
    struct sym_dwarf_image image;
    struct sym_budget budget;

    (void)state;
    build_both();
    sym_budget_begin(&budget, 100);
    assert_false(make_image(&image, "plain", &budget));
    assert_true(budget.refused);
    assert_int_equal(budget.left, 100);
}

/* libdw reads a string up to its NUL, also one that the last section of a file does not
 * end: behind the last page of the file there are zeros. */
static void
section__ends_with_its_file_and_page__zeros_behind_it(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct sym_dwarf_image image;
    unsigned char *bytes;
    size_t size;

    (void)state;
    build_both();
    bytes = fixture_read(fixture_path("plain"), &size);
    bytes = realloc(bytes, size + page);
    assert_non_null(bytes);
    memset(bytes + size, 'x', page);
    size += page - size % page;
    fixture_write(fixture_path("plain"), bytes, size);
    free(bytes);
    assert_true(make_image(&image, "plain", NULL));
    for (size_t i = 0; i < page; i++) {
        assert_int_equal(image.bytes[page + size + i], 0);
    }
    sym_dwarf_image_finish(&image);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections__not_packed__mapped_and_those_of_a_packed_file),
        cmocka_unit_test(sections__not_packed_but_beyond_the_budget__refused),
        cmocka_unit_test(section__ends_with_its_file_and_page__zeros_behind_it),
    };

    return cmocka_run_group_tests(tests, fixture_make_folder, fixture_remove_folder);
}
