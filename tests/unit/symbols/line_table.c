/* SPDX-License-Identifier: MIT */
/*
 * line_table.c - rows and files of line tables that are written here, honest and
 * damaged ones.
 */
#include "fixture.h"

#include "symbols/reader/dwarf_sequences.h"

#include <dwarf.h>
#include <string.h>

static void
put_text(struct section *table, const char *text)
{
    for (size_t i = 0; i <= strlen(text); i++) {
        section_put(table, (unsigned char)text[i], 1);
    }
}

/* Sets a length in front of what follows it. */
static void
set_length(struct section *table, size_t at)
{
    const size_t size = table->size;

    table->size = at;
    section_put(table, size - at - 4, 4);
    table->size = size;
}

/* Where the length of the table is, and that of the header in versions 4 and 5. */
enum { LENGTH_AT = 0, HEADER_4_AT = 6, HEADER_5_AT = 8 };

enum { LINE_BASE = -3, LINE_RANGE = 12, FIRST_SPECIAL = 13 };

/* Up to the tables of folders and files. */
static void
begin_header(struct section *table, unsigned int version)
{
    static const unsigned char operands[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};

    *table = (struct section){.size = 0};
    section_put(table, 0, 4);
    section_put(table, version, 2);
    if (version >= 5) {
        section_put(table, 8, 1);
        section_put(table, 0, 1);
    }
    section_put(table, 0, 4);
    section_put(table, 1, 1); /* bytes of an instruction */
    if (version >= 4) {
        section_put(table, 1, 1);
    }
    section_put(table, 1, 1);
    section_put(table, (uint8_t)LINE_BASE, 1);
    section_put(table, LINE_RANGE, 1);
    section_put(table, FIRST_SPECIAL, 1);
    for (size_t i = 0; i < sizeof(operands); i++) {
        section_put(table, operands[i], 1);
    }
}

static void
put_old_tables(struct section *table, unsigned int folder)
{
    put_text(table, "include");
    section_put(table, 0, 1);
    put_text(table, "work.c");
    section_put(table, 0, 3);
    put_text(table, "work.h");
    section_put(table, folder, 1);
    section_put(table, 0, 2);
    section_put(table, 0, 1);
}

static void
put_address(struct section *table, uint64_t address)
{
    section_put(table, 0, 1);
    section_put(table, 9, 1);
    section_put(table, DW_LNE_set_address, 1);
    section_put(table, address, 8);
}

static void
put_end(struct section *table)
{
    section_put(table, 0, 1);
    section_put(table, 1, 1);
    section_put(table, DW_LNE_end_sequence, 1);
}

static void
put_special(struct section *table, unsigned int bytes, int lines)
{
    section_put(table,
                (unsigned int)(lines - LINE_BASE) + LINE_RANGE * bytes + FIRST_SPECIAL,
                1);
}

/* A sequence of rows at address, address + 4 and address + 6, where it ends. */
static void
put_sequence(struct section *table, uint64_t address)
{
    put_address(table, address);
    section_put(table, DW_LNS_advance_line, 1);
    section_put(table, 9, 1);
    section_put(table, DW_LNS_copy, 1); /* line 10 */
    section_put(table, 0, 1);
    section_put(table, 2, 1);
    section_put(table, DW_LNE_set_discriminator, 1);
    section_put(table, 7, 1);
    section_put(table, DW_LNS_set_file, 1);
    section_put(table, 2, 1);
    put_special(table, 4, -2); /* line 8 */
    section_put(table, DW_LNS_advance_line, 1);
    section_put(table, 0x7e, 1); /* -2 */
    section_put(table, DW_LNS_advance_pc, 1);
    section_put(table, 2, 1);
    section_put(table, DW_LNS_copy, 1); /* line 6, of no code */
    put_end(table);
}

static struct sym_dwarf_part
part_of(struct section *table)
{
    set_length(table, LENGTH_AT);
    return (struct sym_dwarf_part){table->bytes, table->size};
}

/* The rows of a table that has some files. */
static bool
read_rows(struct section *table, const struct sym_elf_code *code,
          struct sym_budget *budget, struct sym_dwarf_rows *rows)
{
    const struct sym_dwarf_part part = part_of(table);
    const struct sym_dwarf_image image = {.parts = {[SYM_DWARF_LINE] = part}};
    struct sym_dwarf_files files;
    bool read;

    *rows = (struct sym_dwarf_rows){.count = 0};
    assert_true(sym_dwarf_files_read(&files, &image, 0, "/folder", NULL));
    read = sym_dwarf_rows_read(rows, &part, 0, code, &files, budget);
    sym_dwarf_files_finish(&files);
    return read;
}

static void
assert_row(const struct sym_dwarf_row *row, uint64_t address, uint32_t file,
           uint32_t line, uint32_t discriminator)
{
    assert_int_equal(row->address, address);
    assert_int_equal(row->file, file);
    assert_int_equal(row->line, line);
    assert_int_equal(row->discriminator, discriminator);
    assert_false(row->end);
}

static void
rows__sequences_in_any_order__by_address(void **state)
{
    static const uint64_t starts[] = {0x1000, 0x2000, 0x2006};
    struct sym_dwarf_rows rows;
    struct section table;

    (void)state;
    begin_header(&table, 4);
    put_old_tables(&table, 1);
    set_length(&table, HEADER_4_AT);
    put_sequence(&table, starts[1]);
    put_sequence(&table, starts[0]);
    put_sequence(&table, starts[2]);
    assert_true(read_rows(&table, NULL, NULL, &rows));
    assert_int_equal(rows.count, 12);
    for (size_t i = 0; i < 2; i++) {
        assert_row(&rows.items[4 * i], starts[i], 1, 10, 0);
        assert_row(&rows.items[4 * i + 1], starts[i] + 4, 2, 8, 7);
        /* The end belongs before what begins there. */
        assert_true(rows.items[4 * i + 2].end);
        assert_row(&rows.items[4 * i + 3], starts[i] + 6, 2, 6, 0);
    }
    assert_row(&rows.items[8], starts[2], 1, 10, 0);
    assert_true(rows.items[11].end);
    free(rows.items);
}

/* gcc makes several rows at an address, of which the last is valid. */
static void
rows__at_one_address__the_last_of_them(void **state)
{
    struct sym_dwarf_rows rows;
    struct section table;

    (void)state;
    begin_header(&table, 4);
    put_old_tables(&table, 1);
    set_length(&table, HEADER_4_AT);
    put_address(&table, 0x1000);
    put_special(&table, 0, 1); /* line 2 */
    put_special(&table, 0, 1);
    put_special(&table, 4, 1);
    put_special(&table, 0, 2);
    section_put(&table, DW_LNS_advance_pc, 1);
    section_put(&table, 2, 1);
    put_end(&table);
    assert_true(read_rows(&table, NULL, NULL, &rows));
    assert_int_equal(rows.count, 3);
    assert_row(&rows.items[0], 0x1000, 1, 3, 0);
    assert_row(&rows.items[1], 0x1004, 1, 6, 0);
    assert_true(rows.items[2].end);
    free(rows.items);
}

static void
rows__of_code_that_was_thrown_away__left_out(void **state)
{
    struct sym_bound area = {0x2000, 0x3000};
    const struct sym_elf_code code = {.areas = &area, .count = 1};
    struct sym_dwarf_rows rows;
    struct section table;

    (void)state;
    begin_header(&table, 4);
    put_old_tables(&table, 1);
    set_length(&table, HEADER_4_AT);
    put_sequence(&table, 0x1ffd); /* it grows into code */
    put_sequence(&table, 0x2100);
    assert_true(read_rows(&table, &code, NULL, &rows));
    assert_int_equal(rows.count, 4);
    assert_row(&rows.items[0], 0x2100, 1, 10, 0);
    free(rows.items);
}

static void
rows__damaged_or_too_many__none(void **state)
{
    struct sym_budget budget;
    struct sym_dwarf_rows rows;
    struct section table;

    (void)state;
    begin_header(&table, 4);
    put_old_tables(&table, 1);
    set_length(&table, HEADER_4_AT);
    put_sequence(&table, 0x1000);
    sym_budget_begin(&budget, 1);
    assert_false(read_rows(&table, NULL, &budget, &rows));
    assert_true(budget.refused);
    free(rows.items);

    section_put(&table, 0, 1);
    section_put(&table, 100, 1); /* longer than what is left */
    assert_true(read_rows(&table, NULL, NULL, &rows));
    assert_int_equal(rows.count, 0);
    free(rows.items);
}

static void
assert_file(const struct sym_dwarf_files *files, size_t number, const char *folder,
            const char *name)
{
    assert_true(number < files->count);
    assert_string_equal(files->items[number].folder, folder);
    assert_string_equal(files->items[number].name, name);
}

static void
files__of_version_4__folder_of_the_compilation_and_defined_ones(void **state)
{
    struct sym_dwarf_image image = {.bytes = NULL};
    struct sym_dwarf_rows rows = {.count = 0};
    struct sym_dwarf_files files;
    struct section table;

    (void)state;
    begin_header(&table, 4);
    put_old_tables(&table, 1);
    set_length(&table, HEADER_4_AT);
    section_put(&table, 0, 1);
    section_put(&table, 1 + sizeof("late.c") + 3, 1);
    section_put(&table, DW_LNE_define_file, 1);
    put_text(&table, "late.c");
    section_put(&table, 1, 1);
    section_put(&table, 0, 2);
    image.parts[SYM_DWARF_LINE] = part_of(&table);
    assert_true(sym_dwarf_files_read(&files, &image, 0, "/folder", NULL));
    assert_int_equal(files.count, 3);
    assert_file(&files, 1, "/folder", "work.c");
    assert_file(&files, 2, "include", "work.h");
    assert_true(sym_dwarf_rows_read(&rows, &image.parts[SYM_DWARF_LINE], 0, NULL,
                                    &files, NULL));
    assert_int_equal(files.count, 4);
    assert_file(&files, 3, "include", "late.c");
    sym_dwarf_files_finish(&files);
    free(rows.items);

    begin_header(&table, 4);
    put_old_tables(&table, 2); /* there is no such folder */
    set_length(&table, HEADER_4_AT);
    image.parts[SYM_DWARF_LINE] = part_of(&table);
    assert_true(sym_dwarf_files_read(&files, &image, 0, "/folder", NULL));
    assert_int_equal(files.count, 0);
    sym_dwarf_files_finish(&files);
}

/* A table of version 5 with a string of a form. */
static void
put_new_tables(struct section *table, unsigned int form, unsigned int formats)
{
    begin_header(table, 5);
    section_put(table, 1, 1);
    section_put(table, DW_LNCT_path, 1);
    section_put(table, DW_FORM_string, 1);
    section_put(table, 1, 1);
    put_text(table, "/folder");
    section_put(table, formats, 1);
    if (formats > 0) {
        section_put(table, DW_LNCT_path, 1);
        section_put(table, form, 1);
        section_put(table, DW_LNCT_directory_index, 1);
        section_put(table, DW_FORM_udata, 1);
        section_put(table, DW_LNCT_MD5, 1);
        section_put(table, DW_FORM_data16, 1);
    }
    section_put(table, 1, 1);
    if (formats > 0) {
        section_put(table, 2, 4); /* offset of the string */
        section_put(table, 0, 1);
        section_put(table, 0, 16);
    }
    set_length(table, HEADER_5_AT);
}

static void
files__of_version_5__by_their_formats(void **state)
{
    static unsigned char strings[] = "a\0work.c";
    struct sym_dwarf_image image = {
        .parts = {[SYM_DWARF_LINE_STR] = {strings, sizeof(strings)}}};
    struct sym_dwarf_files files;
    struct section table;

    (void)state;
    put_new_tables(&table, DW_FORM_line_strp, 3);
    image.parts[SYM_DWARF_LINE] = part_of(&table);
    assert_true(sym_dwarf_files_read(&files, &image, 0, NULL, NULL));
    assert_int_equal(files.count, 1);
    assert_file(&files, 0, "/folder", "work.c");
    sym_dwarf_files_finish(&files);

    /* The string has no end, is of no section, or the form of no use. */
    image.parts[SYM_DWARF_LINE_STR].size = 5;
    assert_true(sym_dwarf_files_read(&files, &image, 0, NULL, NULL));
    assert_int_equal(files.count, 0);
    sym_dwarf_files_finish(&files);
    put_new_tables(&table, DW_FORM_strp, 3);
    image.parts[SYM_DWARF_LINE] = part_of(&table);
    assert_true(sym_dwarf_files_read(&files, &image, 0, NULL, NULL));
    assert_int_equal(files.count, 0);
    sym_dwarf_files_finish(&files);
    put_new_tables(&table, DW_FORM_exprloc, 3);
    image.parts[SYM_DWARF_LINE] = part_of(&table);
    assert_true(sym_dwarf_files_read(&files, &image, 0, NULL, NULL));
    assert_int_equal(files.count, 0);
    sym_dwarf_files_finish(&files);
}

/* Entries of nothing: of which there could be 2^64. */
static void
files__without_formats__none(void **state)
{
    struct sym_dwarf_image image = {.bytes = NULL};
    struct sym_dwarf_files files;
    struct section table;

    (void)state;
    put_new_tables(&table, 0, 0);
    image.parts[SYM_DWARF_LINE] = part_of(&table);
    assert_true(sym_dwarf_files_read(&files, &image, 0, NULL, NULL));
    assert_int_equal(files.count, 0);
    sym_dwarf_files_finish(&files);
}

/* What is cut off anywhere is damage, and nothing is read behind it. */
static void
table__cut_off__nothing_behind_it(void **state)
{
    struct section table;

    (void)state;
    put_new_tables(&table, DW_FORM_line_strp, 3);
    put_sequence(&table, 0x1000);
    set_length(&table, LENGTH_AT);
    for (size_t size = 0; size < table.size; size++) {
        unsigned char *const copy = malloc(size + 1);
        struct sym_dwarf_image image = {.bytes = NULL};
        struct sym_dwarf_rows rows = {.count = 0};
        struct sym_dwarf_files files;

        assert_non_null(copy);
        memcpy(copy, table.bytes, size);
        image.parts[SYM_DWARF_LINE] = (struct sym_dwarf_part){copy, size};
        assert_true(sym_dwarf_files_read(&files, &image, 0, NULL, NULL));
        assert_true(sym_dwarf_rows_read(&rows, &image.parts[SYM_DWARF_LINE], 0, NULL,
                                        &files, NULL));
        assert_int_equal(rows.count, 0);
        sym_dwarf_files_finish(&files);
        free(rows.items);
        free(copy);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows__sequences_in_any_order__by_address),
        cmocka_unit_test(rows__at_one_address__the_last_of_them),
        cmocka_unit_test(rows__of_code_that_was_thrown_away__left_out),
        cmocka_unit_test(rows__damaged_or_too_many__none),
        cmocka_unit_test(
            files__of_version_4__folder_of_the_compilation_and_defined_ones),
        cmocka_unit_test(files__of_version_5__by_their_formats),
        cmocka_unit_test(files__without_formats__none),
        cmocka_unit_test(table__cut_off__nothing_behind_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
