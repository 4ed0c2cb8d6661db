/* SPDX-License-Identifier: MIT */
/*
 * dwarf_lines.c - line tables made byte by byte: which rows and files they have, and
 * where damage ends them.
 */
#include "fixture.h"

#include "sym/dwarf_lines.h"

#include <string.h>

/* table - a section of one table. */
struct table {
    unsigned char bytes[4096];
    size_t size;
    size_t header; /* where the length of the header stands */
};

static void
put(struct table *table, const char *bytes, size_t size)
{
    memcpy(table->bytes + table->size, bytes, size);
    table->size += size;
}

#define PUT(table, bytes) put(table, bytes, sizeof(bytes) - 1)

static void
put_length(struct table *table, size_t at)
{
    const uint32_t length = (uint32_t)(table->size - at - 4);

    memcpy(table->bytes + at, &length, 4);
}

/* Up to the folders of version 2, 3 or 4, or the forms of version 5. Special opcodes
 * begin at 13 with line -5, of 14 lines each. */
static void
begin(struct table *table, unsigned char version)
{
    const char number[2] = {(char)version, 0};

    *table = (struct table){.size = 0};
    PUT(table, "\0\0\0\0");
    put(table, number, 2);
    if (version == 5) {
        PUT(table, "\x08\0");
    }
    table->header = table->size;
    PUT(table, "\0\0\0\0\x01");
    if (version >= 4) {
        PUT(table, "\x01");
    }
    PUT(table, "\x01\xfb\x0e\x0d\0\1\1\1\1\0\0\0\1\0\0\1");
}

/* From the folders on: none of these, and one file. */
static void
begin_program(struct table *table, unsigned char version)
{
    begin(table, version);
    if (version == 5) {
        PUT(table, "\1\1\x08\1/dir\0\1\1\x08\1f.c\0");
    } else {
        PUT(table, "\0f.c\0\0\0\0\0");
    }
    put_length(table, table->header);
}

#define SET_ADDRESS "\0\x09\x02\0\x10\0\0\0\0\0\0" /* 0x1000 */
#define END "\0\1\1"

static struct sym_budget budget;

static bool keep_discriminators;

static struct sym_dwarf_lines *
read_within(struct table *table, uint64_t bytes)
{
    struct sym_dwarf dwarf = {.sections.budget = &budget,
                              .discriminators = keep_discriminators};
    const struct sym_dwarf_unit unit = {
        .dwarf = &dwarf, .version = 4, .address_bytes = 8, .offset_bytes = 4};

    put_length(table, 0);
    sym_budget_begin(&budget, bytes);
    dwarf.sections.items[SYM_DWARF_LINE].bytes = table->bytes;
    dwarf.sections.items[SYM_DWARF_LINE].size = table->size;
    return sym_dwarf_lines_read(&unit, 0);
}

static struct sym_dwarf_lines *
read_table(struct table *table)
{
    return read_within(table, 0);
}

/* The budget has all of it again. */
static void
finish(struct sym_dwarf_lines *lines)
{
    sym_dwarf_lines_delete(lines);
    assert_true(budget.left == budget.bytes);
}

static void
assert_line(const struct sym_dwarf_lines *lines, uint64_t address, uint32_t line)
{
    const struct sym_dwarf_sequence *sequence;
    const struct sym_dwarf_row *const row =
        sym_dwarf_lines_find(lines, address, &sequence);

    assert_int_equal(row == NULL ? 0 : row->line, line);
}

static void
opcodes__of_each_version__rows(void **state)
{
    (void)state;
    for (unsigned char version = 2; version <= 5; version++) {
        struct table table;
        struct sym_dwarf_lines *lines;

        begin_program(&table, version);
        PUT(&table, SET_ADDRESS "\x03\x09\x01"); /* line 10 at 0x1000 */
        PUT(&table, "\x13");                     /* line 11, the same address */
        PUT(&table, "\x02\x10\x03\x7e\x01");     /* line 9 at 0x1010 */
        PUT(&table, "\x08\x01");                 /* a constant of 17: 0x1021 */
        PUT(&table, "\x09\x00\x01\x04\x02\x01"); /* 0x1121, of file 2 */
        PUT(&table, "\x05\x10\x06\x07\x0a\x0b\x0c\x01\0\x02\x04\x0d\0\x03\x80\0\0");
        PUT(&table, "\x4c"); /* line 8 + 5, 4 bytes on */
        PUT(&table, "\x02\x01" END);
        lines = read_table(&table);
        assert_non_null(lines);
        assert_int_equal(lines->row_count, 5);
        assert_int_equal(lines->sequence_count, 1);
        assert_int_equal(lines->sequences[0].end, 0x1126);
        assert_line(lines, 0xfff, 0);
        assert_line(lines, 0x1000, 11);
        assert_line(lines, 0x100f, 11);
        assert_line(lines, 0x1010, 9);
        assert_line(lines, 0x1021, 9);
        assert_line(lines, 0x1125, 11);
        assert_line(lines, 0x1126, 0);
        assert_int_equal(lines->rows[2].file, 1);
        assert_int_equal(lines->rows[3].file, 2);
        finish(lines);
    }
}

/* In any order, with one that the linker threw away, one of no bytes and one that does
 * not end. */
static void
sequences__found_by_address__only_real_ones(void **state)
{
    struct sym_dwarf_lines *lines;
    struct table table;

    (void)state;
    begin_program(&table, 4);
    PUT(&table, "\0\x09\x02\0\x20\0\0\0\0\0\0\x03\x01\x01\x02\x10" END);
    PUT(&table, "\x03\x02\x01\x02\x80\x80\x02" END);
    PUT(&table, SET_ADDRESS "\x03\x03\x01\x02\x10" END);
    PUT(&table, "\0\x09\x02\0\x30\0\0\0\0\0\0\x01" END);
    PUT(&table, "\0\x09\x02\0\x40\0\0\0\0\0\0\x01\x02\x10");
    lines = read_table(&table);
    assert_int_equal(lines->sequence_count, 2);
    assert_line(lines, 0x10, 0);
    assert_line(lines, 0x1000, 4);
    assert_line(lines, 0x1010, 0);
    assert_line(lines, 0x2000, 2);
    assert_line(lines, 0x3000, 0);
    assert_line(lines, 0x4000, 0);
    finish(lines);
}

static void
operations__of_a_wide_instruction__advance_it_together(void **state)
{
    struct sym_dwarf_lines *lines;
    struct table table;

    (void)state;
    begin_program(&table, 4);
    table.bytes[table.header + 4] = 4; /* bytes of an instruction */
    table.bytes[table.header + 5] = 3; /* operations in it */
    PUT(&table, SET_ADDRESS "\x01\x02\x02\x03\x01\x01\x02\x02\x03\x01\x01\x02\x09" END);
    lines = read_table(&table);
    assert_int_equal(lines->row_count, 2);
    assert_int_equal(lines->rows[0].line, 2);
    assert_int_equal(lines->rows[1].address, 0x1004);
    assert_int_equal(lines->sequences[0].end, 0x1010);
    finish(lines);
}

static void
files__until_version_4__numbered_from_1(void **state)
{
    struct sym_dwarf_lines *lines;
    struct table table;

    (void)state;
    begin(&table, 4);
    PUT(&table, "aa\0bbbb\0\0");
    PUT(&table, "f.c\0\1\0\0g.cc\0\2\0\0\0");
    put_length(&table, table.header);
    PUT(&table, "\0\x08\x03h.h\0\1\0\0");
    lines = read_table(&table);
    assert_int_equal(lines->folders.count, 3);
    assert_int_equal(lines->files.count, 4);
    assert_string_equal(lines->folders.items[0].name, "");
    assert_string_equal(lines->folders.items[2].name, "bbbb");
    assert_string_equal(lines->files.items[2].name, "g.cc");
    assert_int_equal(lines->files.items[2].folder, 2);
    assert_string_equal(lines->files.items[3].name, "h.h");
    finish(lines);
}

/* A string, a folder and a checksum; then a folder without a name. */
static void
files__of_version_5__numbered_from_0(void **state)
{
    struct sym_dwarf_lines *lines;
    struct table table;

    (void)state;
    begin(&table, 5);
    PUT(&table, "\1\1\x08\2/aa\0b\0");
    PUT(&table, "\3\1\x08\2\x0b\5\x1e\1f.c\0\1");
    PUT(&table, "0123456789abcdef");
    put_length(&table, table.header);
    lines = read_table(&table);
    assert_int_equal(lines->folders.count, 2);
    assert_string_equal(lines->folders.items[1].name, "b");
    assert_int_equal(lines->files.count, 1);
    assert_string_equal(lines->files.items[0].name, "f.c");
    assert_int_equal(lines->files.items[0].folder, 1);
    finish(lines);
}

/* Whatever comes behind a sequence, it is kept. */
static void
damage__behind_a_sequence__ends_the_table(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } damage[] = {
#define DAMAGE(bytes) {bytes, sizeof(bytes) - 1}
        DAMAGE("\0"),       DAMAGE("\0\0\1"),
        DAMAGE("\0\x7f\1"), DAMAGE("\0\x0a\2\1\1\1\1\1\1\1\1\1"),
        DAMAGE("\0\2\3h"),  DAMAGE("\x02\x80"),
    };
    struct sym_dwarf_lines *lines;
    struct table table;

    (void)state;
    for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
        begin_program(&table, 4);
        PUT(&table, SET_ADDRESS "\x01\x02\x10" END);
        put(&table, damage[i].bytes, damage[i].size);
        lines = read_table(&table);
        assert_int_equal(lines->row_count, 1);
        assert_line(lines, 0x1000, 1);
        finish(lines);
    }
}

static void
headers__damaged__no_rows(void **state)
{
    static const size_t parts[] = {4, 9, 14, 15}; /* version, size, range, base */
    struct sym_dwarf_lines *lines;
    struct table table;

    (void)state;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        begin_program(&table, 4);
        PUT(&table, SET_ADDRESS "\x01\x02\x10" END);
        table.bytes[parts[i]] = parts[i] == 9 ? 1 : 0;
        lines = read_table(&table);
        assert_non_null(lines);
        assert_int_equal(lines->row_count, 0);
        finish(lines);
    }
    begin(&table, 5);
    PUT(&table, "\0\xff\xff\xff\xff\xff\xff\xff\x7f"); /* folders that take no byte */
    put_length(&table, table.header);
    table.bytes[6] = 200; /* bytes of an address */
    lines = read_table(&table);
    assert_int_equal(lines->folders.count, 0);
    finish(lines);
}

static void
rows__beyond_the_budget__refused(void **state)
{
    struct table table;

    (void)state;
    begin_program(&table, 4);
    PUT(&table, SET_ADDRESS);
    for (int i = 0; i < 3000; i++) {
        PUT(&table, "\x4c");
    }
    PUT(&table, END);
    assert_null(read_within(&table, 4096));
    assert_true(budget.refused);
    finish(NULL);
}

/* One counts for the next row, of rows at one address that of the last. */
static void
discriminators__asked_for__beside_their_rows(void **state)
{
    static const uint32_t wanted[] = {0, 2, 0, 300};
    struct sym_dwarf_lines *lines;
    struct table table;

    (void)state;
    begin_program(&table, 4);
    PUT(&table, SET_ADDRESS "\x01");           /* 0x1000 */
    PUT(&table, "\x02\x10\0\x02\x04\x07\x01"); /* 0x1010: 7, but then */
    PUT(&table, "\0\x02\x04\x02\x13");         /* 2 */
    PUT(&table, "\x4c\0\x03\x04\xac\x02\x4c\x02\x01" END);
    lines = read_table(&table);
    assert_int_equal(lines->row_count, 4);
    assert_null(lines->discriminators);
    finish(lines);
    keep_discriminators = true;
    lines = read_table(&table);
    keep_discriminators = false;
    assert_int_equal(lines->row_count, 4);
    for (size_t i = 0; i < lines->row_count; i++) {
        assert_int_equal(lines->discriminators[i], wanted[i]);
    }
    finish(lines);
}

static void
random_bytes__run__rows_in_order(void **state)
{
    uint64_t seed = 11;

    (void)state;
    keep_discriminators = true;
    for (int round = 0; round < 20000; round++) {
        struct sym_dwarf_lines *lines;
        struct table table;

        begin_program(&table, (unsigned char)(2 + fixture_random(&seed) % 4));
        PUT(&table, SET_ADDRESS);
        for (int i = 0; i < 60; i++) {
            table.bytes[table.size++] = (unsigned char)(fixture_random(&seed) % 20);
        }
        if (round % 3 == 0) {
            table.bytes[fixture_random(&seed) % table.size] =
                (unsigned char)fixture_random(&seed);
        }
        lines = read_within(&table, 65536);
        for (size_t i = 0; lines != NULL && i < lines->sequence_count; i++) {
            const struct sym_dwarf_sequence *const one = &lines->sequences[i];

            assert_true(one->count > 0 && one->first + one->count <= lines->row_count);
            assert_true(lines->rows[one->first].address == one->start);
            for (size_t row = one->first + 1; row < one->first + one->count; row++) {
                assert_true(lines->rows[row].address > lines->rows[row - 1].address);
                assert_true(lines->rows[row].address < one->end);
            }
        }
        finish(lines);
    }
    keep_discriminators = false;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opcodes__of_each_version__rows),
        cmocka_unit_test(sequences__found_by_address__only_real_ones),
        cmocka_unit_test(operations__of_a_wide_instruction__advance_it_together),
        cmocka_unit_test(files__until_version_4__numbered_from_1),
        cmocka_unit_test(files__of_version_5__numbered_from_0),
        cmocka_unit_test(damage__behind_a_sequence__ends_the_table),
        cmocka_unit_test(headers__damaged__no_rows),
        cmocka_unit_test(rows__beyond_the_budget__refused),
        cmocka_unit_test(discriminators__asked_for__beside_their_rows),
        cmocka_unit_test(random_bytes__run__rows_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
